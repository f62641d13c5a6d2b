ALTER TABLE indexes
	ADD COLUMN recall_target double precision NOT NULL DEFAULT 0.95, -- of index scans
	ADD COLUMN recall_curve jsonb; -- the measured recall by search width; null: not measured
