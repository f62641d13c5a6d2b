-- database_name says where a tenant lives: empty in the database that serves it. In the first
-- database, which has a row of every tenant, it is the name of the registered database that serves
-- the tenant. A registered database has a row of each tenant that it serves, and of those that
-- have left it, with a name.
ALTER TABLE tenants ADD COLUMN database_name text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX tenants_placed ON tenants (database_name, tenant_id) WHERE database_name <> '';

-- databases are those besides this one in which tenants live. Only the first database of a
-- service has rows.
CREATE TABLE databases (
	database_name   text COLLATE "C" PRIMARY KEY,
	database_id     uuid NOT NULL UNIQUE, -- of identity there
	url             bytea NOT NULL, -- encrypted by package seal
	address         text NOT NULL, -- of the URL, without user and password
	owner_id        text COLLATE "C" NOT NULL DEFAULT '', -- the tenant that brought it; empty for the operator's
	max_connections integer NOT NULL,
	created_at      timestamptz NOT NULL DEFAULT now(),
	updated_at      timestamptz NOT NULL DEFAULT now()
);

-- identity has one row: which database this is, and which service it belongs to, by the id of the
-- first database of that. A database that belongs to one is refused to others.
CREATE TABLE identity (
	database_id uuid NOT NULL,
	service_id  uuid NOT NULL,
	only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row)
);
INSERT INTO identity (database_id, service_id) SELECT made.id, made.id FROM (SELECT gen_random_uuid() AS id) AS made;

-- served raises RG001 unless this database serves the tenant. Statements of the tenant begin with
-- it, so that an instance which has not heard that the tenant has left neither reads nor writes here.
CREATE FUNCTION served(tenant text) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
	PERFORM FROM ragd.tenants AS t WHERE t.tenant_id = tenant COLLATE "C" AND t.database_name = '';
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the tenant "%" is not served by this database', tenant USING ERRCODE = 'RG001';
	END IF;
END
$$;
