CREATE TABLE `ssh_keys` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`subscription_id` integer NOT NULL,
	`type` text NOT NULL,
	`blob` text NOT NULL,
	`fingerprint` text NOT NULL,
	`comment` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `ssh_keys_fingerprint` ON `ssh_keys` (`fingerprint`,`subscription_id`);--> statement-breakpoint
CREATE INDEX `ssh_keys_subscription` ON `ssh_keys` (`subscription_id`,`id`);