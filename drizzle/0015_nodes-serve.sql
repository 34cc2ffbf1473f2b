CREATE TABLE `installation` (
	`id` integer PRIMARY KEY NOT NULL,
	`installation_id` text NOT NULL,
	`last_subscription_id` integer NOT NULL
) STRICT;
--> statement-breakpoint
INSERT INTO `installation` (`id`, `installation_id`, `last_subscription_id`)
SELECT 1, lower(hex(randomblob(16))), coalesce((SELECT `seq` FROM `sqlite_sequence` WHERE `name` = 'subscriptions'), 0);
--> statement-breakpoint
ALTER TABLE `nodes` ADD `drained_at` integer;--> statement-breakpoint
ALTER TABLE `nodes` ADD `epoch` text;--> statement-breakpoint
ALTER TABLE `nodes` ADD `version` text;--> statement-breakpoint
ALTER TABLE `nodes` ADD `capabilities` text;--> statement-breakpoint
ALTER TABLE `nodes` ADD `status` text;--> statement-breakpoint
ALTER TABLE `nodes` ADD `clock_ahead_ms` integer;--> statement-breakpoint
CREATE INDEX `nodes_taking` ON `nodes` (`epoch`) WHERE removed_at IS NULL AND drained_at IS NULL;--> statement-breakpoint
ALTER TABLE `sites` ADD `node_id` integer REFERENCES nodes(id);--> statement-breakpoint
CREATE INDEX `sites_node_id` ON `sites` (`node_id`);--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `node_id` integer REFERENCES nodes(id);--> statement-breakpoint
CREATE INDEX `subscriptions_node_id` ON `subscriptions` (`node_id`);