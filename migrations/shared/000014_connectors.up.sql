-- connectors are the connectors of tenants, with their last runs.
CREATE TABLE connectors (
	tenant_id        text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	connector_name   text COLLATE "C",
	index_name       text COLLATE "C" NOT NULL,
	namespace        text COLLATE "C" NOT NULL,
	definition       json NOT NULL, -- connector.Definition
	access           json NOT NULL, -- tenant.Delegation: with whose rights it runs
	index_id         bigint NOT NULL DEFAULT 0, -- of the index that the items were stored in
	paused           boolean NOT NULL DEFAULT false,
	paused_reason    text NOT NULL DEFAULT '',
	accept_deletions boolean NOT NULL DEFAULT false,
	source_state     json NOT NULL DEFAULT '{}', -- connector.State of the source as a whole
	run              bigint NOT NULL DEFAULT 0, -- counts runs
	status           text NOT NULL DEFAULT '' CHECK (status IN ('', 'running', 'succeeded', 'failed')),
	error            text NOT NULL DEFAULT '',
	counts           json NOT NULL DEFAULT '{}', -- connector.Counts
	started_at       timestamptz,
	ended_at         timestamptz,
	next_run_at      timestamptz,
	created_at       timestamptz NOT NULL DEFAULT now(),
	updated_at       timestamptz NOT NULL DEFAULT now(), -- of the definition
	PRIMARY KEY (tenant_id, connector_name)
);

ALTER TABLE connectors ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON connectors USING (tenant_id = current_tenant());

-- connector_items are what connectors know of the items of their sources.
CREATE TABLE connector_items (
	tenant_id      text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	connector_name text COLLATE "C",
	item_id        text COLLATE "C", -- uri of its document
	status         text NOT NULL CHECK (status IN ('stored', 'skipped', 'failed')),
	reason         text NOT NULL DEFAULT '',
	has_document   boolean NOT NULL,
	state          json NOT NULL, -- connector.State
	seen_run       bigint NOT NULL, -- the last run in which the source had it
	updated_at     timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, connector_name, item_id),
	FOREIGN KEY (tenant_id, connector_name) REFERENCES connectors ON DELETE CASCADE
);

ALTER TABLE connector_items ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON connector_items USING (tenant_id = current_tenant());
