-- secrets are values that tenants' tools send, which are never returned.
CREATE TABLE secrets (
	tenant_id   text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	secret_name text COLLATE "C",
	value       bytea NOT NULL,  -- encrypted for this tenant, name and hosts by package seal
	hosts       text[] NOT NULL, -- to which the value may be sent; empty: any
	created_at  timestamptz NOT NULL DEFAULT now(),
	updated_at  timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, secret_name)
);

ALTER TABLE secrets ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON secrets USING (tenant_id = current_tenant());
