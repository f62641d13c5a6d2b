-- A connector of an MCP server can be followed: one instance at a time holds a subscription.
ALTER TABLE connectors
	ADD follower       text NOT NULL DEFAULT '', -- the instance that holds the subscription
	ADD followed_until timestamptz; -- until when, unless it extends it

-- A run has found that a user has to sign in at the source.
ALTER TABLE connectors ADD needs_authorization boolean NOT NULL DEFAULT false;

-- offers is connector.offers: tools and prompts of the source.
ALTER TABLE connectors ADD offers json NOT NULL DEFAULT '{}';

-- offers_changed announces that the tools and prompts of a tenant may have changed.
CREATE FUNCTION offers_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'UPDATE' OR OLD.offers::text <> '{}' THEN
		PERFORM pg_notify('ragd_event', json_build_object('schema', 'tenant_' || OLD.tenant_id, 'kind', kind, 'name', OLD.connector_name, 'index', '')::text)
		FROM unnest(ARRAY['tool', 'prompt']) AS kind;
	END IF;
	RETURN NULL;
END
$$;
CREATE TRIGGER offers_changed AFTER DELETE OR UPDATE OF offers ON connectors FOR EACH ROW EXECUTE FUNCTION offers_changed();

-- connector_tokens are tokens for the sources of connectors, and sign-ins that have begun.
CREATE TABLE connector_tokens (
	tenant_id      text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	connector_name text COLLATE "C",
	token          bytea, -- connector.grant, sealed
	renewing_until timestamptz, -- until when an instance gets another token
	pending        bytea, -- connector.pending, sealed
	pending_until  timestamptz,
	state_hash     bytea, -- SHA-256 of the state of the sign-in
	PRIMARY KEY (tenant_id, connector_name),
	FOREIGN KEY (tenant_id, connector_name) REFERENCES connectors ON DELETE CASCADE
);

ALTER TABLE connector_tokens ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON connector_tokens USING (tenant_id = current_tenant());
