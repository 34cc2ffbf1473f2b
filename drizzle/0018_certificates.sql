CREATE TABLE `certificate_challenges` (
	`token` text PRIMARY KEY NOT NULL,
	`site_id` integer NOT NULL,
	`answer` text NOT NULL,
	`is_in_place` integer NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `certificate_challenges_site` ON `certificate_challenges` (`site_id`);--> statement-breakpoint
CREATE TABLE `certificate_names` (
	`name` text PRIMARY KEY NOT NULL,
	`state` text NOT NULL,
	`reason` text,
	`failures` integer NOT NULL,
	`retry_at` integer NOT NULL,
	`attempted_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `certificate_names_retry` ON `certificate_names` (`retry_at`);--> statement-breakpoint
CREATE TABLE `certificate_work` (
	`site_id` integer PRIMARY KEY NOT NULL,
	`due_at` integer NOT NULL,
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `certificate_work_due` ON `certificate_work` (`due_at`);--> statement-breakpoint
CREATE TABLE `certificates` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`site_id` integer NOT NULL,
	`source` text NOT NULL,
	`names` text NOT NULL,
	`csr` text,
	`chain` text,
	`sealed_key` text,
	`fingerprint` text,
	`issuer` text,
	`not_before` integer,
	`not_after` integer,
	`is_served` integer NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `certificates_site` ON `certificates` (`site_id`);--> statement-breakpoint
ALTER TABLE `sites` ADD `tls` text;
--> statement-breakpoint
INSERT INTO `certificate_work` (`site_id`, `due_at`) SELECT `id`, 0 FROM `sites`;
--> statement-breakpoint
CREATE TRIGGER `site_domains_certificate` AFTER INSERT ON `site_domains` BEGIN
	INSERT INTO `certificate_work` (`site_id`, `due_at`) VALUES (NEW.`site_id`, 0) ON CONFLICT (`site_id`) DO UPDATE SET `due_at` = 0;
END;
