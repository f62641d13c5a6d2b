-- Which edges an index keeps, the job that finds them anew, and in how many parts
-- its graph fell when that ended.
ALTER TABLE indexes
	ADD graph            jsonb NOT NULL DEFAULT '{}',
	ADD graph_job_id     uuid,
	ADD graph_components bigint NOT NULL DEFAULT 0,
	ADD graph_counted_at timestamptz;
