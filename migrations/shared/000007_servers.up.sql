-- servers are the MCP servers that tenants defined: what agents see under an address of
-- its own.
CREATE TABLE servers (
	tenant_id   text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	server_name text COLLATE "C",
	definition  jsonb NOT NULL, -- server.Definition
	created_at  timestamptz NOT NULL DEFAULT now(),
	updated_at  timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, server_name)
);

ALTER TABLE servers ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON servers USING (tenant_id = current_tenant());

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON servers
	FOR EACH ROW EXECUTE FUNCTION announce('server', 'server_name');
