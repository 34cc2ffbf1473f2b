ALTER TABLE `api_keys` ADD `scopes` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `allowed_cidrs` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `subscription_id` integer REFERENCES subscriptions(id) ON DELETE cascade;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `previous_key_hash` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `previous_key_prefix` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `previous_valid_until` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `noticed_days` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_previous_key_hash_unique` ON `api_keys` (`previous_key_hash`);--> statement-breakpoint
CREATE INDEX `api_keys_subscription_id` ON `api_keys` (`subscription_id`);--> statement-breakpoint
CREATE INDEX `api_keys_expires_at` ON `api_keys` (`expires_at`) WHERE expires_at IS NOT NULL;