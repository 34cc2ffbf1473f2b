CREATE TABLE `events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`subscription_id` integer NOT NULL,
	`site_id` integer NOT NULL,
	`kind` text NOT NULL,
	`generation` integer NOT NULL,
	`details` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `events_subscription` ON `events` (`subscription_id`,`id`);--> statement-breakpoint
CREATE INDEX `events_site` ON `events` (`site_id`,`id`);--> statement-breakpoint
CREATE INDEX `events_created_at` ON `events` (`created_at`);--> statement-breakpoint
INSERT INTO `events` SELECT `site_events`.`id`, `sites`.`subscription_id`, `site_id`, `site_events`.`kind`, `site_events`.`generation`, `details`, `site_events`.`created_at` FROM `site_events` JOIN `sites` ON `sites`.`id` = `site_id`;
--> statement-breakpoint
-- Ids are never given twice: they go on from where the old table stood.
DELETE FROM `sqlite_sequence` WHERE `name` = 'events';
--> statement-breakpoint
INSERT INTO `sqlite_sequence` SELECT 'events', `seq` FROM `sqlite_sequence` WHERE `name` = 'site_events';
--> statement-breakpoint
DROP TABLE `site_events`;
