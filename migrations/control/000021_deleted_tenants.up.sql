-- A tenant that was deleted can be restored for a while: its row, its keys, its schema or archive stay, and nothing uses them. Its waiting
-- work is in moved_work.
ALTER TABLE tenants DROP CONSTRAINT tenants_status_check;
ALTER TABLE tenants
	ADD CONSTRAINT tenants_status_check CHECK (status IN ('creating', 'importing', 'ready', 'asleep', 'waking', 'deleted', 'deleting')),
	ADD COLUMN kept_status text,        -- the status that it had, and has again when it is restored; null unless it is deleted
	ADD COLUMN deleted_at timestamptz,  -- null unless it is deleted
	ADD COLUMN erase_at timestamptz;    -- until when it can be restored; null unless it is deleted

CREATE INDEX tenants_deleted ON tenants (erase_at) WHERE status = 'deleted';

CREATE OR REPLACE FUNCTION served(tenant text) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
	PERFORM FROM ragd.tenants AS t
	WHERE t.tenant_id = tenant COLLATE "C" AND t.database_name = '' AND t.status <> 'asleep' AND t.status <> 'waking' AND t.status <> 'deleted';
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the tenant "%" is not served by this database', tenant USING ERRCODE = 'RG001';
	END IF;
END
$$;
