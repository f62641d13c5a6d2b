-- instances are the running copies of the service. One with an old heartbeat is dead,
-- and its claims are released.
CREATE TABLE instances (
	instance_id  text PRIMARY KEY,
	heartbeat_at timestamptz NOT NULL
);

-- backlog has a row for each document that waits for ingest or is being ingested. A new
-- version of a document replaces the row of an older one. The row says when the document
-- may be claimed; its content is in the tenant's schema.
CREATE TABLE backlog (
	tenant_id   text COLLATE "C" NOT NULL,
	document_id uuid NOT NULL,
	index_id    bigint NOT NULL,
	version     int NOT NULL,
	job_id      uuid NOT NULL,
	bytes       bigint NOT NULL,
	attempt     int NOT NULL DEFAULT 0, -- times claimed
	lost        int NOT NULL DEFAULT 0, -- claims that ended with the death of their instance: no failed attempts
	due_at      timestamptz NOT NULL DEFAULT now(),
	claimed_by  text, -- instance_id
	PRIMARY KEY (tenant_id, document_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);

CREATE INDEX backlog_due ON backlog (tenant_id, due_at) WHERE claimed_by IS NULL;
CREATE INDEX backlog_claimed ON backlog (claimed_by) WHERE claimed_by IS NOT NULL;
