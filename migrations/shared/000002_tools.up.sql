-- tools are those that tenants defined for their agents: a builtin tool with settings of the
-- tenant's own.
CREATE TABLE tools (
	tenant_id     text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	tool_name     text COLLATE "C",
	kind          text NOT NULL,
	title         text NOT NULL,
	description   text NOT NULL,
	settings      jsonb NOT NULL,
	arguments     text[] NOT NULL,
	fixed         boolean NOT NULL,
	annotations   jsonb NOT NULL DEFAULT '{}', -- hints that replace those of the kind
	meta          jsonb,                       -- _meta for MCP clients
	output_schema jsonb,                       -- replaces that of the kind
	created_at    timestamptz NOT NULL DEFAULT now(),
	updated_at    timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, tool_name)
);

ALTER TABLE tools ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON tools USING (tenant_id = current_tenant());

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON tools
	FOR EACH ROW EXECUTE FUNCTION announce('tool', 'tool_name', '{settings,indexName}');
