-- A tenant that is moved to another database is copied while it is used. Then its writes are stopped,
-- what has changed meanwhile is copied, and its requests go to the other database. This database
-- refuses the writes itself: an instance of the service may not have heard of the move.

-- stopped_tenants are the tenants of this database that accept no writes, because the last changes
-- are being copied to another database. Only the service has rows written.
CREATE TABLE stopped_tenants (
	tenant_id text COLLATE "C" PRIMARY KEY DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE
);

ALTER TABLE stopped_tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON stopped_tenants USING (tenant_id = current_tenant());

-- check_writable raises RG002 if the tenant accepts no writes. Else it takes a lock until the end of the
-- transaction, for which the one waits that stops the writes.
CREATE FUNCTION check_writable(tenant text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR attempt IN 1..2 LOOP
		IF EXISTS (SELECT FROM ragd_shared.stopped_tenants AS s WHERE s.tenant_id = tenant) THEN
			RAISE EXCEPTION 'the tenant is being moved to another database' USING ERRCODE = 'RG002';
		END IF;
		IF attempt = 1 THEN
			PERFORM pg_advisory_xact_lock_shared(hashtextextended('tenant_' || tenant || '/writes', 0));
		END IF;
	END LOOP;
END
$$;

-- refuse_stopped refuses the statement of a tenant that accepts no writes. Each other table with rows of all
-- tenants has a trigger that calls it, and each table of a tenant's own while the tenant is moved.
CREATE FUNCTION refuse_stopped() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF ragd_shared.current_tenant() IS NOT NULL THEN
		PERFORM ragd_shared.check_writable(ragd_shared.current_tenant());
	END IF;
	RETURN NULL;
END
$$;

DO $$
DECLARE
	shared regclass;
BEGIN
	FOR shared IN SELECT c.oid FROM pg_catalog.pg_class AS c WHERE c.relnamespace = 'ragd_shared'::regnamespace AND c.relkind = 'r' AND c.relrowsecurity AND c.relname <> 'stopped_tenants' LOOP
		EXECUTE format('CREATE TRIGGER refuse_stopped BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped()', shared);
	END LOOP;
END
$$;

-- record_keys notes the keys of rows that a statement changed in a table of a tenant that is being
-- copied; null for a table that was emptied. Its argument are the columns of the key, of a row with the
-- alias c.
CREATE FUNCTION record_keys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'TRUNCATE' THEN
		EXECUTE format('INSERT INTO %I.moved_keys (relation) VALUES ($1)', TG_TABLE_SCHEMA) USING TG_RELNAME;
		RETURN NULL;
	END IF;
	EXECUTE format('INSERT INTO %I.moved_keys (relation, key) SELECT $1, jsonb_build_array(%s) FROM changed AS c', TG_TABLE_SCHEMA, TG_ARGV[0]) USING TG_RELNAME;
	IF TG_OP = 'UPDATE' THEN
		EXECUTE format('INSERT INTO %I.moved_keys (relation, key) SELECT $1, jsonb_build_array(%s) FROM before AS c', TG_TABLE_SCHEMA, TG_ARGV[0]) USING TG_RELNAME;
	END IF;
	RETURN NULL;
END
$$;
