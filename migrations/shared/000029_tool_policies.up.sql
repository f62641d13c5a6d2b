-- tool_policies are what tenants have happen before and after calls of tools.
CREATE TABLE tool_policies (
	tenant_id   text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	policy_name text COLLATE "C",
	definition  jsonb NOT NULL, -- policy.Definition
	created_at  timestamptz NOT NULL DEFAULT now(),
	updated_at  timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, policy_name)
);
ALTER TABLE tool_policies ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON tool_policies USING (tenant_id = current_tenant());
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON tool_policies
	FOR EACH ROW EXECUTE FUNCTION announce('policy', 'policy_name');
CREATE TRIGGER refuse_stopped BEFORE INSERT OR UPDATE OR DELETE ON tool_policies FOR EACH STATEMENT EXECUTE FUNCTION refuse_stopped();
