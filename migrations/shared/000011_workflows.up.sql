-- workflows are the workflows that tenants defined, in all their versions.
CREATE TABLE workflows (
	tenant_id     text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	workflow_name text COLLATE "C",
	version       int,
	tool_name     text NOT NULL GENERATED ALWAYS AS ('run_' || workflow_name) STORED, -- of the tool that runs it
	definition    json NOT NULL, -- workflow.Definition
	created_at    timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, workflow_name, version)
);

ALTER TABLE workflows ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON workflows USING (tenant_id = current_tenant());

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON workflows
	FOR EACH ROW EXECUTE FUNCTION announce('tool', 'tool_name');

-- workflow_runs are the runs of workflows.
CREATE TABLE workflow_runs (
	tenant_id     text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	run_id        uuid,
	workflow_name text COLLATE "C" NOT NULL,
	version       int NOT NULL,
	status        text NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled')),
	subject       text COLLATE "C" NOT NULL, -- who started it
	access        json NOT NULL, -- tenant.Delegation: with whose rights steps run
	input         json NOT NULL,
	output        json,
	error         text NOT NULL DEFAULT '',
	error_kind    text NOT NULL DEFAULT '',
	changes       bigint NOT NULL DEFAULT 0, -- of steps
	bytes         bigint NOT NULL DEFAULT 0, -- of inputs and outputs of steps
	created_at    timestamptz NOT NULL DEFAULT now(),
	started_at    timestamptz,
	ended_at      timestamptz,
	updated_at    timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, run_id)
);

ALTER TABLE workflow_runs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON workflow_runs USING (tenant_id = current_tenant());

CREATE INDEX workflow_runs_created ON workflow_runs (tenant_id, created_at DESC, run_id DESC);

-- workflow_steps are the steps of runs that have begun. A path such as each[2].fetch names one of them in its run.
CREATE TABLE workflow_steps (
	tenant_id  text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	run_id     uuid,
	path       text COLLATE "C",
	kind       text NOT NULL,
	status     text NOT NULL CHECK (status IN ('running', 'waiting', 'succeeded', 'failed', 'cancelled')),
	change     bigint NOT NULL, -- the value of changes of the run at its last change
	attempts   int NOT NULL DEFAULT 0,
	version    int NOT NULL DEFAULT 0, -- of the workflow that it runs; 0 for none
	input      json,
	output     json,
	message    text NOT NULL DEFAULT '', -- of a step that waits
	schema     json, -- of what it waits for; null: anything
	error      text NOT NULL DEFAULT '',
	error_kind text NOT NULL DEFAULT '',
	started_at timestamptz NOT NULL DEFAULT now(),
	wait_until timestamptz,
	ended_at   timestamptz,
	PRIMARY KEY (tenant_id, run_id, path),
	FOREIGN KEY (tenant_id, run_id) REFERENCES workflow_runs ON DELETE CASCADE
);

ALTER TABLE workflow_steps ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON workflow_steps USING (tenant_id = current_tenant());
