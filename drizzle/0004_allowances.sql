CREATE TABLE `allowances` (
	`user_id` integer NOT NULL,
	`name` text NOT NULL,
	`empty_at` integer NOT NULL,
	`used_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `name`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `allowances_empty_at` ON `allowances` (`empty_at`);--> statement-breakpoint
ALTER TABLE `known_addresses` ADD `reset_at` integer;--> statement-breakpoint
ALTER TABLE `known_addresses` DROP COLUMN `failed_attempts`;--> statement-breakpoint
ALTER TABLE `users` DROP COLUMN `failed_attempts`;