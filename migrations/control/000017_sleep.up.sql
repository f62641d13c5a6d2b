-- A tenant that is asleep has neither a schema nor a role nor rows of tables with rows of all tenants: an archive
-- outside the database has them. Its row, its keys, its issuers and its usage stay here. While it is waking, its data
-- is loaded again, and nothing but that uses it.
ALTER TABLE tenants DROP CONSTRAINT tenants_status_check;
ALTER TABLE tenants
	ADD CONSTRAINT tenants_status_check CHECK (status IN ('creating', 'importing', 'ready', 'asleep', 'waking', 'deleting')),
	ADD COLUMN asleep_since timestamptz,  -- null unless it is asleep or waking
	ADD COLUMN archived_bytes bigint;     -- of its archive; null unless it is asleep or waking

-- What is done for all tenants that are in use, and for those whose change was interrupted, does not read the rows of
-- those that are asleep.
CREATE INDEX tenants_ready ON tenants (tenant_id) WHERE status = 'ready';
CREATE INDEX tenants_changing ON tenants (status, updated_at) WHERE status <> 'ready' AND status <> 'asleep';

-- sleeps are the archives of tenants that are asleep, and of those that are put to sleep or were woken.
--
--   archiving   the archive is being written; the tenant is ready
--   dropping    the tenant is asleep, and its data is still to be dropped here
--   asleep      the archive alone has the tenant's data
--   awake       the tenant was woken, and the archive is kept for a restored backup of this database
CREATE TABLE sleeps (
	archive_id uuid PRIMARY KEY,
	tenant_id  text COLLATE "C" NOT NULL REFERENCES tenants ON DELETE CASCADE,
	phase      text NOT NULL CHECK (phase IN ('archiving', 'dropping', 'asleep', 'awake')),
	sealed_key bytea,                      -- the data key of the archive, encrypted by package seal; null when awake
	frames     bigint NOT NULL DEFAULT 0,  -- of the archive
	updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX sleeps_now ON sleeps (tenant_id) WHERE phase <> 'awake';
CREATE INDEX sleeps_of_tenant ON sleeps (tenant_id);
CREATE INDEX sleeps_unfinished ON sleeps (updated_at) WHERE phase <> 'asleep';

-- served raises RG001 unless this database serves the tenant. Statements of the tenant begin with
-- it, so that an instance which has not heard that the tenant has left, or is asleep, neither reads nor writes here.
CREATE OR REPLACE FUNCTION served(tenant text) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
	PERFORM FROM ragd.tenants AS t
	WHERE t.tenant_id = tenant COLLATE "C" AND t.database_name = '' AND t.status <> 'asleep' AND t.status <> 'waking';
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the tenant "%" is not served by this database', tenant USING ERRCODE = 'RG001';
	END IF;
END
$$;

-- waking is served for the statements that load the data of a tenant that is waking.
CREATE FUNCTION waking(tenant text) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
	PERFORM FROM ragd.tenants AS t WHERE t.tenant_id = tenant COLLATE "C" AND t.database_name = '' AND t.status = 'waking';
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the tenant "%" is not waking in this database', tenant USING ERRCODE = 'RG001';
	END IF;
END
$$;
