-- An older ragd cannot wake tenants: their data would be lost to it.
DO $$
BEGIN
	IF EXISTS (SELECT FROM ragd.sleeps) OR EXISTS (SELECT FROM ragd.tenants WHERE status IN ('asleep', 'waking')) THEN
		RAISE EXCEPTION 'tenants are asleep: wake them before the schema is migrated down';
	END IF;
END
$$;
DROP FUNCTION waking(text);
CREATE OR REPLACE FUNCTION served(tenant text) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
	PERFORM FROM ragd.tenants AS t WHERE t.tenant_id = tenant COLLATE "C" AND t.database_name = '';
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the tenant "%" is not served by this database', tenant USING ERRCODE = 'RG001';
	END IF;
END
$$;
DROP TABLE sleeps;
DROP INDEX tenants_changing;
DROP INDEX tenants_ready;
ALTER TABLE tenants DROP CONSTRAINT tenants_status_check, DROP COLUMN archived_bytes, DROP COLUMN asleep_since;
ALTER TABLE tenants ADD CONSTRAINT tenants_status_check CHECK (status IN ('creating', 'importing', 'ready', 'deleting'));
