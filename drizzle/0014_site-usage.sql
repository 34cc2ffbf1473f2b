CREATE TABLE `site_usage` (
	`site_id` integer NOT NULL,
	`hour` integer NOT NULL,
	`requests` integer NOT NULL,
	`bytes` integer NOT NULL,
	`informational` integer NOT NULL,
	`successful` integer NOT NULL,
	`redirected` integer NOT NULL,
	`client_errors` integer NOT NULL,
	`server_errors` integer NOT NULL,
	PRIMARY KEY(`site_id`, `hour`),
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `site_usage_hour` ON `site_usage` (`hour`);--> statement-breakpoint
CREATE TABLE `usage_batches` (
	`node_id` integer PRIMARY KEY NOT NULL,
	`batch` text NOT NULL
) STRICT;
--> statement-breakpoint
ALTER TABLE `sites` ADD `disk_bytes` integer;--> statement-breakpoint
ALTER TABLE `sites` ADD `files` integer;