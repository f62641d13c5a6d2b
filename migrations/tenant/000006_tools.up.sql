-- Tools that the tenant made for its agents: a builtin one with settings of its
-- own. They are told of on the channel ragd_event as {"schema", "tool"}.
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

CREATE FUNCTION announce_tool() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('ragd_event', json_build_object('schema', TG_TABLE_SCHEMA, 'tool', coalesce(NEW.tool_name, OLD.tool_name))::text);
	RETURN NULL;
END
$$;

CREATE TRIGGER tools_announced AFTER INSERT OR DELETE OR UPDATE ON tools
	FOR EACH ROW EXECUTE FUNCTION announce_tool();
