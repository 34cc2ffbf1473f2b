CREATE TABLE `audit_head` (
	`id` integer PRIMARY KEY NOT NULL,
	`entry_id` integer NOT NULL,
	`hash` text NOT NULL
) STRICT;
--> statement-breakpoint
INSERT INTO `audit_head` (`id`, `entry_id`, `hash`)
SELECT 1, `last`, CASE `last` WHEN 0 THEN printf('%064d', 0) ELSE coalesce(
	(SELECT `hash` FROM `audit_log` WHERE `id` = `last`),
	(SELECT `hash` FROM `audit_horizon` WHERE `entry_id` = `last`),
	''
) END
FROM (SELECT coalesce((SELECT `seq` FROM `sqlite_sequence` WHERE `name` = 'audit_log'), 0) AS `last`);
--> statement-breakpoint
CREATE TRIGGER `audit_head_forward` BEFORE UPDATE ON `audit_head`
WHEN NEW.`id` <> OLD.`id` OR NEW.`entry_id` <= OLD.`entry_id`
BEGIN
	SELECT RAISE(ABORT, 'audit_head goes forward alone');
END;
--> statement-breakpoint
CREATE TRIGGER `audit_head_one_row` BEFORE INSERT ON `audit_head`
WHEN EXISTS (SELECT 1 FROM `audit_head`)
BEGIN
	SELECT RAISE(ABORT, 'audit_head goes forward alone');
END;
--> statement-breakpoint
CREATE TRIGGER `audit_head_no_delete` BEFORE DELETE ON `audit_head`
BEGIN
	SELECT RAISE(ABORT, 'audit_head goes forward alone');
END;
