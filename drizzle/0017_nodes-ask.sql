ALTER TABLE `nodes` ADD `subscriptions` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `deployments_sha256` ON `deployments` (`sha256`);--> statement-breakpoint
UPDATE `nodes` SET `subscriptions` = (SELECT count(*) FROM `subscriptions` WHERE `subscriptions`.`node_id` = `nodes`.`id`);
--> statement-breakpoint
CREATE TRIGGER `subscriptions_on_node` AFTER INSERT ON `subscriptions` WHEN NEW.`node_id` IS NOT NULL
BEGIN
	UPDATE `nodes` SET `subscriptions` = `subscriptions` + 1 WHERE `id` = NEW.`node_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `subscriptions_off_node` AFTER DELETE ON `subscriptions` WHEN OLD.`node_id` IS NOT NULL
BEGIN
	UPDATE `nodes` SET `subscriptions` = `subscriptions` - 1 WHERE `id` = OLD.`node_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `subscriptions_move` AFTER UPDATE OF `node_id` ON `subscriptions` WHEN NEW.`node_id` IS NOT OLD.`node_id`
BEGIN
	UPDATE `nodes` SET `subscriptions` = `subscriptions` - 1 WHERE `id` = OLD.`node_id`;
	UPDATE `nodes` SET `subscriptions` = `subscriptions` + 1 WHERE `id` = NEW.`node_id`;
END;
