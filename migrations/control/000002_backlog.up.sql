-- The documents that wait for a worker or are with one, each once: a newer version
-- takes the place of an older. What the work is about is in the tenant's schema;
-- here is who may take it, and when.
CREATE TABLE backlog (
	tenant_id   text COLLATE "C" NOT NULL,
	document_id uuid NOT NULL,
	index_id    bigint NOT NULL,
	version     int NOT NULL,
	job_id      uuid NOT NULL,
	bytes       bigint NOT NULL,
	attempt     int NOT NULL DEFAULT 0, -- how often it was claimed
	due_at      timestamptz NOT NULL DEFAULT now(),
	claimed_by  text, -- the instance that works on it
	PRIMARY KEY (tenant_id, document_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);

CREATE INDEX backlog_due ON backlog (tenant_id, due_at) WHERE claimed_by IS NULL;
CREATE INDEX backlog_claimed ON backlog (claimed_by) WHERE claimed_by IS NOT NULL;
