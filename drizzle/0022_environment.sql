CREATE TABLE `site_variables` (
	`site_id` integer NOT NULL,
	`name` text NOT NULL,
	`sealed` text NOT NULL,
	`fingerprint` text NOT NULL,
	`bytes` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`site_id`, `name`),
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
