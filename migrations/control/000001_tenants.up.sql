CREATE TABLE tenants (
	tenant_id          text COLLATE "C" PRIMARY KEY,
	display_name       text NOT NULL DEFAULT '',
	settings           jsonb NOT NULL DEFAULT '{}', -- of the operator
	vector_store_names text[] NOT NULL DEFAULT '{}', -- that the tenant gives its vector store
	status             text NOT NULL CHECK (status IN ('creating', 'ready', 'deleting')),
	created_at         timestamptz NOT NULL DEFAULT now(),
	updated_at         timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_keys (
	api_key_id       text COLLATE "C" PRIMARY KEY,
	tenant_id        text COLLATE "C" REFERENCES tenants ON DELETE CASCADE, -- null: an operator's key
	display_name     text NOT NULL DEFAULT '',
	secret_hash      bytea NOT NULL,
	scopes           text[] NOT NULL,
	mandatory_filter jsonb,
	bounds           jsonb, -- of servers, indexes, tools and prompts; null: none
	attributes       jsonb,
	created_at       timestamptz NOT NULL,
	expires_at       timestamptz,
	revoked_at       timestamptz,
	first_used_at    timestamptz,
	last_used_at     timestamptz
) WITH (fillfactor = 80); -- last_used_at changes every minute

CREATE INDEX api_keys_tenant ON api_keys (tenant_id, created_at DESC, api_key_id DESC);
