ALTER TABLE `subscriptions` ADD `max_disk_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `max_archive_bytes` integer DEFAULT 536870912 NOT NULL;--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `max_unpacked_bytes` integer DEFAULT 2147483648 NOT NULL;--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `max_files` integer DEFAULT 100000 NOT NULL;--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `disk_bytes` integer;--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `disk_enforced` text DEFAULT 'measured' NOT NULL;