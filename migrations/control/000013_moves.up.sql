-- moves are those of tenants from one database of the service to another. Only the first database
-- has rows. A move in the phase copying changes nothing of what is served; from the phase switching
-- on the tenant lives in its new database, and in the phase dropping the old one keeps a copy.
CREATE TABLE moves (
	move_id       uuid PRIMARY KEY,
	tenant_id     text COLLATE "C" NOT NULL REFERENCES tenants ON DELETE CASCADE,
	from_database text COLLATE "C" NOT NULL, -- empty: the first one
	to_database   text COLLATE "C" NOT NULL, -- empty: the first one
	phase         text NOT NULL CHECK (phase IN ('copying', 'switching', 'dropping', 'done', 'failed')),
	step          text NOT NULL DEFAULT '', -- what is done now, for people
	attempts      int NOT NULL DEFAULT 0,
	error         text NOT NULL DEFAULT '', -- of the last attempt
	rows          bigint NOT NULL DEFAULT 0, -- copied
	bytes         bigint NOT NULL DEFAULT 0, -- copied
	pause_ms      bigint NOT NULL DEFAULT 0, -- for which writes were stopped
	keep_until    timestamptz,               -- when the old copy is dropped; null before the switch
	created_at    timestamptz NOT NULL DEFAULT now(),
	updated_at    timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX moves_of_tenant_now ON moves (tenant_id) WHERE phase IN ('copying', 'switching', 'dropping');
CREATE INDEX moves_newest ON moves (created_at DESC, move_id DESC);

-- moved_work are documents that wait for ingest, tasks, and what else of the control schema belongs to a
-- database: rows of tenants that are being moved, which nobody works on until they are back in their tables.
CREATE TABLE moved_work (
	tenant_id text COLLATE "C" NOT NULL REFERENCES tenants ON DELETE CASCADE,
	relation  text NOT NULL, -- the table
	content   jsonb NOT NULL -- the row
);

CREATE INDEX moved_work_tenant ON moved_work (tenant_id);
