-- mcp_sessions are the sessions of MCP clients, so that every instance can serve them.
CREATE TABLE mcp_sessions (
	tenant_id     text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	session_hash  bytea,                          -- SHA-256 of the id
	owner_hash    bytea NOT NULL,                 -- SHA-256 of the caller whose session it is
	client        json NOT NULL,                  -- the parameters of initialize
	log_level     text NOT NULL DEFAULT '',
	subscriptions text[] NOT NULL DEFAULT '{}',   -- URIs
	notifier      text NOT NULL,                  -- the instance that notifies the client
	version       bigint NOT NULL DEFAULT 1,      -- grows with each change
	created_at    timestamptz NOT NULL DEFAULT now(),
	used_at       timestamptz NOT NULL DEFAULT now(), -- about
	PRIMARY KEY (tenant_id, session_hash)
);
CREATE INDEX ON mcp_sessions (tenant_id, used_at);
ALTER TABLE mcp_sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON mcp_sessions USING (tenant_id = current_tenant());

-- mcp_messages are what instances tell each other about sessions, for some minutes.
CREATE TABLE mcp_messages (
	tenant_id    text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	session_hash bytea,
	message_id   bigint GENERATED ALWAYS AS IDENTITY,
	addressee    text NOT NULL,                   -- an instance, who resumes a stream, or empty for all instances
	kind         text NOT NULL,                   -- mcphttp.messageKind
	stream       text NOT NULL,                   -- that the message is about; empty for none
	number       bigint NOT NULL,                 -- of an event in the stream
	body         bytea NOT NULL,
	created_at   timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, session_hash, message_id),
	FOREIGN KEY (tenant_id, session_hash) REFERENCES mcp_sessions ON DELETE CASCADE
);
ALTER TABLE mcp_messages ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON mcp_messages USING (tenant_id = current_tenant());

-- mcp_session_changed announces a change of a session with its version, 0 for one that has ended.
CREATE FUNCTION mcp_session_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('ragd_event', json_build_object('schema', 'tenant_' || OLD.tenant_id, 'kind', 'mcp_session',
		'name', encode(OLD.session_hash, 'hex'), 'index', CASE TG_OP WHEN 'DELETE' THEN 0 ELSE NEW.version END::text)::text);
	RETURN NULL;
END
$$;
CREATE TRIGGER changed AFTER DELETE OR UPDATE OF version ON mcp_sessions FOR EACH ROW EXECUTE FUNCTION mcp_session_changed();

-- mcp_message_sent announces a message to its addressee with its number.
CREATE FUNCTION mcp_message_sent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('ragd_event', json_build_object('schema', 'tenant_' || NEW.tenant_id, 'kind', 'mcp_message',
		'name', encode(NEW.session_hash, 'hex'), 'index', NEW.addressee || ' ' || NEW.message_id)::text);
	RETURN NULL;
END
$$;
CREATE TRIGGER sent AFTER INSERT ON mcp_messages FOR EACH ROW EXECUTE FUNCTION mcp_message_sent();
