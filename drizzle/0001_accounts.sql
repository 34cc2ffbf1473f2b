CREATE TABLE `audit_horizon` (
	`id` integer PRIMARY KEY NOT NULL,
	`entry_id` integer NOT NULL,
	`hash` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `audit_log` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`created_at` integer NOT NULL,
	`actor_id` integer,
	`credential_kind` text NOT NULL,
	`credential_id` integer,
	`address` text,
	`request_id` text,
	`action` text NOT NULL,
	`account_id` integer,
	`target_type` text,
	`target_id` integer,
	`result` text NOT NULL,
	`reason` text,
	`times` integer NOT NULL,
	`details` text NOT NULL,
	`hash` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `audit_log_created_at` ON `audit_log` (`created_at`);--> statement-breakpoint
CREATE INDEX `audit_log_actor_id` ON `audit_log` (`actor_id`);--> statement-breakpoint
CREATE INDEX `audit_log_account_id` ON `audit_log` (`account_id`);--> statement-breakpoint
CREATE INDEX `audit_log_action` ON `audit_log` (`action`);--> statement-breakpoint
CREATE TABLE `email_changes` (
	`user_id` integer PRIMARY KEY NOT NULL,
	`email` text NOT NULL,
	`token_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `email_changes_token_hash_unique` ON `email_changes` (`token_hash`);
--> statement-breakpoint
CREATE TRIGGER `audit_log_no_update` BEFORE UPDATE ON `audit_log`
BEGIN
	SELECT RAISE(ABORT, 'audit_log is append-only');
END;
--> statement-breakpoint
CREATE TRIGGER `audit_log_no_delete` BEFORE DELETE ON `audit_log`
WHEN OLD.`id` > coalesce((SELECT `entry_id` FROM `audit_horizon`), 0)
BEGIN
	SELECT RAISE(ABORT, 'audit_log is append-only');
END;
--> statement-breakpoint
CREATE TRIGGER `audit_log_in_order` BEFORE INSERT ON `audit_log`
WHEN NEW.`id` <> 1 + coalesce((SELECT max(`id`) FROM `audit_log`), (SELECT `entry_id` FROM `audit_horizon`), 0)
BEGIN
	SELECT RAISE(ABORT, 'audit_log is append-only');
END;
