DROP INDEX `password_tokens_user_purpose`;--> statement-breakpoint
CREATE INDEX `password_tokens_user_purpose` ON `password_tokens` (`user_id`,`purpose`);--> statement-breakpoint
ALTER TABLE `email_changes` ADD `user_updated_at` integer DEFAULT 0 NOT NULL;