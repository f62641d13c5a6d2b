-- usage has what tenants used in each hour. A row is added to by all instances; see package
-- usage.
CREATE TABLE usage (
	tenant_id     text COLLATE "C" NOT NULL REFERENCES tenants ON DELETE CASCADE,
	hour          timestamptz NOT NULL,
	index_name    text COLLATE "C" NOT NULL, -- empty outside of an index
	stage         text COLLATE "C" NOT NULL CHECK (stage IN ('ingest', 'upsert', 'query', 'walk', 'embedding', 'rerank', 'chat')),
	model         text COLLATE "C" NOT NULL, -- endpoint/model; empty for stages without one
	calls         bigint NOT NULL DEFAULT 0,
	documents     bigint NOT NULL DEFAULT 0,
	chunks        bigint NOT NULL DEFAULT 0,
	bytes         bigint NOT NULL DEFAULT 0,
	input_tokens  bigint NOT NULL DEFAULT 0,
	output_tokens bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (tenant_id, hour, index_name, stage, model)
) WITH (fillfactor = 80);

CREATE INDEX usage_hour ON usage (hour);
