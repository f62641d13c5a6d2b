-- agents are the agents that tenants defined.
CREATE TABLE agents (
	tenant_id  text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	agent_name text COLLATE "C",
	tool_name  text NOT NULL GENERATED ALWAYS AS ('ask_' || agent_name) STORED, -- of the tool that asks it
	definition json NOT NULL, -- agent.Definition
	created_at timestamptz NOT NULL DEFAULT now(),
	updated_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, agent_name)
);

ALTER TABLE agents ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON agents USING (tenant_id = current_tenant());

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON agents
	FOR EACH ROW EXECUTE FUNCTION announce('tool', 'tool_name');

-- agent_threads are the conversations of callers with agents.
CREATE TABLE agent_threads (
	tenant_id  text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	agent_name text COLLATE "C",
	subject    text COLLATE "C", -- issuer and subject of the caller
	thread_id  text COLLATE "C",
	messages   json NOT NULL, -- a list of agent.ThreadMessage
	created_at timestamptz NOT NULL DEFAULT now(),
	updated_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, agent_name, subject, thread_id),
	FOREIGN KEY (tenant_id, agent_name) REFERENCES agents ON DELETE CASCADE
);

ALTER TABLE agent_threads ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON agent_threads USING (tenant_id = current_tenant());
