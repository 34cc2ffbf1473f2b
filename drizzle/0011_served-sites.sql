CREATE TABLE `desired_states` (
	`revision` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`subscription_id` integer NOT NULL,
	`node_id` integer
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `desired_states_subscription` ON `desired_states` (`subscription_id`);--> statement-breakpoint
CREATE INDEX `desired_states_node` ON `desired_states` (`node_id`,`revision`);--> statement-breakpoint
CREATE TABLE `site_removals` (
	`site_id` integer PRIMARY KEY NOT NULL,
	`subscription_id` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `site_removals_subscription` ON `site_removals` (`subscription_id`);--> statement-breakpoint
CREATE TABLE `deployments` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`site_id` integer NOT NULL,
	`number` integer NOT NULL,
	`status` text NOT NULL,
	`sha256` text NOT NULL,
	`archive_bytes` integer NOT NULL,
	`bytes` integer,
	`files` integer,
	`failure` text,
	`message` text,
	`commit` text,
	`created_by` integer,
	`activates` integer NOT NULL,
	`activated_at` integer,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `deployments_site_number` ON `deployments` (`site_id`,`number`);--> statement-breakpoint
CREATE INDEX `deployments_status` ON `deployments` (`site_id`,`status`);--> statement-breakpoint
CREATE TABLE `site_events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`site_id` integer NOT NULL,
	`kind` text NOT NULL,
	`generation` integer NOT NULL,
	`details` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `site_events_site` ON `site_events` (`site_id`,`id`);--> statement-breakpoint
CREATE INDEX `site_events_created_at` ON `site_events` (`created_at`);--> statement-breakpoint
CREATE TABLE `__new_sites` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`subscription_id` integer NOT NULL,
	`kind` text NOT NULL,
	`php_version` text,
	`is_enabled` integer NOT NULL,
	`spa` integer NOT NULL,
	`public_dir` text,
	`is_deleting` integer NOT NULL,
	`deployment_id` integer,
	`generation` integer NOT NULL,
	`observed_generation` integer NOT NULL,
	`observed` text,
	`failure` text,
	`document_root` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_sites` (`id`, `subscription_id`, `kind`, `is_enabled`, `spa`, `is_deleting`, `generation`, `observed_generation`, `created_at`, `updated_at`)
SELECT `id`, `subscription_id`, 'static', `status` = 'active', 0, 0, 1, 0, `created_at`, `updated_at` FROM `sites`;
--> statement-breakpoint
DELETE FROM `sqlite_sequence` WHERE `name` = '__new_sites';
--> statement-breakpoint
INSERT INTO `sqlite_sequence` (`name`, `seq`) SELECT '__new_sites', `seq` FROM `sqlite_sequence` WHERE `name` = 'sites';
--> statement-breakpoint
DROP TABLE `sites`;--> statement-breakpoint
ALTER TABLE `__new_sites` RENAME TO `sites`;--> statement-breakpoint
CREATE INDEX `sites_subscription_id` ON `sites` (`subscription_id`);
--> statement-breakpoint
INSERT INTO `desired_states` (`subscription_id`) SELECT `id` FROM `subscriptions` ORDER BY `id`;
--> statement-breakpoint
CREATE TRIGGER `sites_removed` AFTER DELETE ON `sites`
BEGIN
	INSERT OR IGNORE INTO `site_removals` (`site_id`, `subscription_id`) VALUES (OLD.`id`, OLD.`subscription_id`);
END;
--> statement-breakpoint
CREATE TRIGGER `subscriptions_removed` AFTER DELETE ON `subscriptions`
BEGIN
	INSERT OR REPLACE INTO `desired_states` (`subscription_id`, `node_id`)
	SELECT `subscription_id`, `node_id` FROM `desired_states` WHERE `subscription_id` = OLD.`id`;
END;
