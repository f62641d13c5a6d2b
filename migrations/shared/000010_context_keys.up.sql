-- context_keys are the keys of the request context that tenants declared.
CREATE TABLE context_keys (
	tenant_id   text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	key_name    text COLLATE "C",
	description text NOT NULL,
	schema      jsonb,
	fallback    jsonb,            -- the default
	secret      boolean NOT NULL,
	source      text NOT NULL,    -- tenant.ContextSource
	source_name text NOT NULL,
	created_at  timestamptz NOT NULL DEFAULT now(),
	updated_at  timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, key_name)
);
ALTER TABLE context_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON context_keys USING (tenant_id = current_tenant());
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON context_keys
	FOR EACH ROW EXECUTE FUNCTION announce('context', 'key_name');
