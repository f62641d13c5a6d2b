-- prompts are the prompts that tenants defined, in all their versions.
CREATE TABLE prompts (
	tenant_id    text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	prompt_name  text COLLATE "C",
	version      int,
	version_name text COLLATE "C" NOT NULL DEFAULT '', -- '': none
	definition   jsonb NOT NULL, -- prompt.Definition
	created_at   timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, prompt_name, version)
);

ALTER TABLE prompts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON prompts USING (tenant_id = current_tenant());

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON prompts
	FOR EACH ROW EXECUTE FUNCTION announce('prompt', 'prompt_name');
