-- tool_tasks are calls of tools that go on after their callers were answered, for some minutes.
CREATE TABLE tool_tasks (
	tenant_id  text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	task_id    uuid,
	owner_hash bytea NOT NULL,                       -- SHA-256 of the caller whose task it is
	tool_name  text NOT NULL,
	status     text NOT NULL CHECK (status IN ('working', 'input_required', 'completed', 'failed', 'cancelled')),
	message    text NOT NULL DEFAULT '',             -- for people
	asked      json NOT NULL DEFAULT '{}',           -- requests to the client that wait for their answers, by their keys
	answers    json NOT NULL DEFAULT '{}',           -- to them
	outcome    json,                                 -- what the caller gets of a task that has ended
	cancelled  boolean NOT NULL DEFAULT false,       -- the caller has asked for it
	alive_at   timestamptz NOT NULL DEFAULT now(),   -- when the instance that runs it last said so
	created_at timestamptz NOT NULL DEFAULT now(),
	updated_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, task_id)
);
CREATE INDEX ON tool_tasks (tenant_id, created_at);
ALTER TABLE tool_tasks ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON tool_tasks USING (tenant_id = current_tenant());
CREATE TRIGGER refuse_stopped BEFORE INSERT OR UPDATE OR DELETE ON tool_tasks FOR EACH STATEMENT EXECUTE FUNCTION refuse_stopped();
