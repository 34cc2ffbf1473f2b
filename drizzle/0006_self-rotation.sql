ALTER TABLE `api_keys` ADD `renewable_until` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `lifetime_ms` integer;