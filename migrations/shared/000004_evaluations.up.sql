-- question_sets are questions of a tenant whose answers are known. Rows of this table and
-- the following are visible to credentials without a mandatory filter, and to those whose
-- filter is access.
CREATE TABLE question_sets (
	tenant_id      text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	set_name       text COLLATE "C",
	index_name     text NOT NULL,
	description    text NOT NULL,
	access         text NOT NULL,               -- the mandatory filter of the credential that made it
	question_count int NOT NULL DEFAULT 0,
	drafted_count  int NOT NULL DEFAULT 0,
	byte_size      bigint NOT NULL DEFAULT 0,   -- of the questions
	draft          jsonb,                       -- settings of the last draft; null: none
	draft_job_id   uuid,
	created_at     timestamptz NOT NULL DEFAULT now(),
	updated_at     timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, set_name)
);

CREATE TABLE questions (
	tenant_id   text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	set_name    text COLLATE "C",
	question_id text COLLATE "C",
	question    jsonb NOT NULL,
	byte_size   int NOT NULL,
	drafted     boolean NOT NULL,
	PRIMARY KEY (tenant_id, set_name, question_id),
	FOREIGN KEY (tenant_id, set_name) REFERENCES question_sets ON DELETE CASCADE
);

-- evaluations are runs of question sets.
CREATE TABLE evaluations (
	tenant_id      text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	evaluation_id  uuid,
	set_name       text COLLATE "C" NOT NULL,
	index_name     text NOT NULL,
	access         text NOT NULL,
	settings       jsonb NOT NULL,
	delegation     jsonb,                -- tenant.Delegation: with whose rights an agent is asked; null for queries
	question_count int NOT NULL,
	job_id         uuid NOT NULL,
	estimates      jsonb,                -- null until it has ended
	usage          jsonb NOT NULL DEFAULT '{}', -- of an agent and its judge
	unanswerable   int NOT NULL DEFAULT 0,
	created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (tenant_id, evaluation_id),
	FOREIGN KEY (tenant_id, set_name) REFERENCES question_sets ON DELETE CASCADE
);
CREATE INDEX evaluations_newest ON evaluations (tenant_id, created_at DESC, evaluation_id DESC);
CREATE INDEX evaluations_of_set ON evaluations (tenant_id, set_name);

-- evaluation_results has the results of the questions of an evaluation, in batches in the
-- order of the questions' ids.
CREATE TABLE evaluation_results (
	tenant_id      text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	evaluation_id  uuid,
	batch          int,
	result_count   int NOT NULL,
	results        jsonb NOT NULL,
	PRIMARY KEY (tenant_id, evaluation_id, batch),
	FOREIGN KEY (tenant_id, evaluation_id) REFERENCES evaluations ON DELETE CASCADE
);

ALTER TABLE question_sets ENABLE ROW LEVEL SECURITY;
ALTER TABLE questions ENABLE ROW LEVEL SECURITY;
ALTER TABLE evaluations ENABLE ROW LEVEL SECURITY;
ALTER TABLE evaluation_results ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON question_sets USING (tenant_id = current_tenant());
CREATE POLICY own_rows ON questions USING (tenant_id = current_tenant());
CREATE POLICY own_rows ON evaluations USING (tenant_id = current_tenant());
CREATE POLICY own_rows ON evaluation_results USING (tenant_id = current_tenant());
