-- A tenant that is being imported has a row, a role and a schema, and nothing uses it yet.
ALTER TABLE tenants DROP CONSTRAINT tenants_status_check;
ALTER TABLE tenants ADD CONSTRAINT tenants_status_check CHECK (status IN ('creating', 'importing', 'ready', 'deleting'));

-- imports says how far the imports of tenants are that have not ended. A row changes in the
-- transaction that stores what it counts.
CREATE TABLE imports (
	tenant_id  text COLLATE "C" PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
	frames     bigint NOT NULL DEFAULT 0, -- of the archive that are stored
	chain      bytea NOT NULL,            -- checksum of these
	state      json NOT NULL,             -- archive.progress
	created_at timestamptz NOT NULL DEFAULT now(),
	updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
