-- Nobody else knows a deleted tenant: it is used again, rather than lost.
UPDATE tenants SET status = kept_status WHERE status = 'deleted';
DROP INDEX tenants_deleted;
ALTER TABLE tenants DROP CONSTRAINT tenants_status_check;
ALTER TABLE tenants
	ADD CONSTRAINT tenants_status_check CHECK (status IN ('creating', 'importing', 'ready', 'asleep', 'waking', 'deleting')),
	DROP COLUMN kept_status, DROP COLUMN deleted_at, DROP COLUMN erase_at;

CREATE OR REPLACE FUNCTION served(tenant text) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
	PERFORM FROM ragd.tenants AS t
	WHERE t.tenant_id = tenant COLLATE "C" AND t.database_name = '' AND t.status <> 'asleep' AND t.status <> 'waking';
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the tenant "%" is not served by this database', tenant USING ERRCODE = 'RG001';
	END IF;
END
$$;
