ALTER TABLE `sites` ADD `php_settings` text;--> statement-breakpoint
ALTER TABLE `sites` ADD `no_php_in` text;--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `php_workers` integer DEFAULT 5 NOT NULL;--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `php_memory_mb` integer DEFAULT 256 NOT NULL;--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `php_seconds` integer DEFAULT 60 NOT NULL;--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `php_upload_mb` integer DEFAULT 64 NOT NULL;