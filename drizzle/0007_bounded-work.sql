CREATE TABLE `audit_clock_steps` (
	`entry_id` integer PRIMARY KEY NOT NULL
) STRICT;
--> statement-breakpoint
INSERT INTO `audit_clock_steps` (`entry_id`)
SELECT `id` FROM (SELECT `id`, `created_at`, lag(`created_at`) OVER (ORDER BY `id`) AS `before` FROM `audit_log`)
WHERE `created_at` < `before`;
--> statement-breakpoint
DROP INDEX `api_keys_expires_at`;--> statement-breakpoint
CREATE INDEX `api_keys_notices` ON `api_keys` (`noticed_days`,`expires_at`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
DROP INDEX `audit_log_created_at`;--> statement-breakpoint
CREATE INDEX `audit_log_actor_id_action` ON `audit_log` (`actor_id`,`action`);--> statement-breakpoint
CREATE INDEX `audit_log_actor_id_alone` ON `audit_log` (`actor_id`) WHERE account_id IS NULL;--> statement-breakpoint
CREATE INDEX `audit_log_actor_id_alone_action` ON `audit_log` (`actor_id`,`action`) WHERE account_id IS NULL;--> statement-breakpoint
CREATE INDEX `audit_log_account_id_action` ON `audit_log` (`account_id`,`action`);--> statement-breakpoint
CREATE INDEX `known_addresses_last_login_at` ON `known_addresses` (`last_login_at`);--> statement-breakpoint
CREATE INDEX `outbox_tried` ON `outbox` (`created_at`) WHERE attempts > 0;--> statement-breakpoint
CREATE INDEX `password_tokens_expires_at` ON `password_tokens` (`expires_at`);--> statement-breakpoint
CREATE INDEX `users_administrators` ON `users` (`id`) WHERE role = 'admin';