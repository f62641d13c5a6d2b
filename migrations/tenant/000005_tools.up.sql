-- tools are those that the tenant defined for its agents: a builtin tool with settings
-- of the tenant's own.
CREATE TABLE tools (
	tool_name   text COLLATE "C" PRIMARY KEY,
	kind        text NOT NULL,
	title       text NOT NULL,
	description text NOT NULL,
	settings    jsonb NOT NULL,
	arguments   text[] NOT NULL,
	fixed       boolean NOT NULL,
	created_at  timestamptz NOT NULL DEFAULT now(),
	updated_at  timestamptz NOT NULL DEFAULT now()
);
