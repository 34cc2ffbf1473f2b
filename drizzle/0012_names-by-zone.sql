ALTER TABLE `site_domains` ADD `reversed` text NOT NULL DEFAULT '';--> statement-breakpoint
UPDATE `site_domains` SET `reversed` = (
	WITH RECURSIVE `labels` (`rest`, `reversed`) AS (
		SELECT `site_domains`.`domain` || '.', ''
		UNION ALL
		SELECT substr(`rest`, instr(`rest`, '.') + 1), substr(`rest`, 1, instr(`rest`, '.')) || `reversed` FROM `labels` WHERE `rest` <> ''
	)
	SELECT `reversed` FROM `labels` WHERE `rest` = ''
);
--> statement-breakpoint
CREATE INDEX `site_domains_reversed` ON `site_domains` (`reversed`);
