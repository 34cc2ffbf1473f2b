CREATE TABLE `audit_sums` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`key` text NOT NULL,
	`account_id` integer NOT NULL,
	`actor_id` integer,
	`credential_kind` text NOT NULL,
	`credential_id` integer,
	`address` text,
	`action` text NOT NULL,
	`target_type` text,
	`first_target_id` integer,
	`last_target_id` integer,
	`first_at` integer NOT NULL,
	`last_at` integer NOT NULL,
	`times` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `audit_sums_key_unique` ON `audit_sums` (`key`);--> statement-breakpoint
CREATE INDEX `audit_sums_account_id` ON `audit_sums` (`account_id`);--> statement-breakpoint
CREATE INDEX `audit_sums_first_at` ON `audit_sums` (`first_at`);