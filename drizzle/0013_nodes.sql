CREATE TABLE `nodes` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`token_hash` text,
	`previous_token_hash` text,
	`previous_valid_until` integer,
	`created_at` integer NOT NULL,
	`last_seen_at` integer,
	`removed_at` integer
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `nodes_token_hash_unique` ON `nodes` (`token_hash`);--> statement-breakpoint
CREATE UNIQUE INDEX `nodes_previous_token_hash_unique` ON `nodes` (`previous_token_hash`);--> statement-breakpoint
CREATE UNIQUE INDEX `nodes_name` ON `nodes` (`name`) WHERE removed_at IS NULL;
