CREATE TABLE `jobs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`kind` text NOT NULL,
	`payload` text NOT NULL,
	`topic` text,
	`attempts` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`next_attempt_at` integer NOT NULL,
	`expires_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
INSERT INTO `sqlite_sequence` (`name`, `seq`) SELECT 'jobs', `seq` FROM `sqlite_sequence` WHERE `name` = 'outbox';
--> statement-breakpoint
INSERT INTO `jobs` (`id`, `kind`, `payload`, `topic`, `attempts`, `created_at`, `next_attempt_at`, `expires_at`)
SELECT `id`, 'email', json_object('to', `recipient`, 'subject', `subject`, 'body', `body`), `topic`, `attempts`, `created_at`, `next_attempt_at`, `expires_at`
FROM `outbox`;
--> statement-breakpoint
DROP TABLE `outbox`;--> statement-breakpoint
CREATE UNIQUE INDEX `jobs_topic` ON `jobs` (`kind`,`topic`);--> statement-breakpoint
CREATE INDEX `jobs_next_attempt_at` ON `jobs` (`kind`,`next_attempt_at`);--> statement-breakpoint
CREATE INDEX `jobs_expires_at` ON `jobs` (`kind`,`expires_at`);--> statement-breakpoint
CREATE INDEX `jobs_tried` ON `jobs` (`kind`,`created_at`) WHERE attempts > 0;
