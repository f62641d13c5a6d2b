CREATE SCHEMA ragd;

CREATE FUNCTION ragd.check_replica(wanted_mark uuid, wanted_position bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
	IF NOT pg_catalog.pg_is_in_recovery() THEN
		RAISE EXCEPTION 'the server is not a replica' USING ERRCODE = 'RG011';
	END IF;
	IF pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_last_wal_replay_lsn(), '0/0') < wanted_position THEN
		RAISE EXCEPTION 'the replica is behind' USING ERRCODE = 'RG012';
	END IF;
	IF NOT EXISTS (SELECT FROM ragd.wal_timeline AS t WHERE t.mark = wanted_mark) THEN
		RAISE EXCEPTION 'the replica follows another timeline' USING ERRCODE = 'RG013';
	END IF;
END
$$;

CREATE FUNCTION ragd.keep_audit_log() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
	IF TG_OP = 'DELETE' AND OLD.recorded_at < clock_timestamp() - interval '30 days' THEN
		RETURN OLD;
	ELSIF TG_OP = 'UPDATE' AND OLD.outcome IS NULL AND NEW.outcome IS NOT NULL
		AND to_jsonb(NEW) - '{outcome,answered_at,result}'::text[] = to_jsonb(OLD) - '{outcome,answered_at,result}'::text[] THEN
		RETURN NEW;
	END IF;
	RAISE EXCEPTION 'the audit log is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE FUNCTION ragd.served(tenant text) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
	PERFORM FROM ragd.tenants AS t
	WHERE t.tenant_id = tenant COLLATE "C" AND t.database_name = '' AND t.status <> 'asleep' AND t.status <> 'waking' AND t.status <> 'deleted';
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the tenant "%" is not served by this database', tenant USING ERRCODE = 'RG001';
	END IF;
END
$$;

CREATE FUNCTION ragd.waking(tenant text) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
	PERFORM FROM ragd.tenants AS t WHERE t.tenant_id = tenant COLLATE "C" AND t.database_name = '' AND t.status = 'waking';
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the tenant "%" is not waking in this database', tenant USING ERRCODE = 'RG001';
	END IF;
END
$$;

CREATE TABLE ragd.api_keys (
    api_key_id text NOT NULL COLLATE pg_catalog."C",
    tenant_id text COLLATE pg_catalog."C",
    display_name text DEFAULT ''::text NOT NULL,
    secret_hash bytea NOT NULL,
    scopes text[] NOT NULL,
    mandatory_filter jsonb,
    bounds jsonb,
    attributes jsonb,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    first_used_at timestamp with time zone,
    last_used_at timestamp with time zone,
    origins text[]
)
WITH (fillfactor='80');

CREATE TABLE ragd.audit_log (
    entry_id bigint NOT NULL,
    recorded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    operator boolean NOT NULL,
    issuer text NOT NULL COLLATE pg_catalog."C",
    client text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    object jsonb NOT NULL,
    request_id text NOT NULL COLLATE pg_catalog."C",
    calls integer NOT NULL,
    outcome text COLLATE pg_catalog."C",
    answered_at timestamp with time zone,
    result jsonb,
    CONSTRAINT audit_log_kind_check CHECK ((kind = ANY (ARRAY['action'::text, 'denied'::text, 'policy'::text])))
);

ALTER TABLE ragd.audit_log ALTER COLUMN entry_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ragd.audit_log_entry_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE ragd.backlog (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    document_id uuid NOT NULL,
    index_id bigint NOT NULL,
    version integer NOT NULL,
    job_id uuid NOT NULL,
    bytes bigint NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    claimed_by text
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='2000');

CREATE TABLE ragd.compatibility (
    control_version integer NOT NULL,
    only_row boolean DEFAULT true NOT NULL,
    CONSTRAINT compatibility_only_row_check CHECK (only_row)
);

CREATE TABLE ragd.console_sessions (
    secret_hash bytea NOT NULL,
    kind text NOT NULL,
    credential bytea NOT NULL,
    owner bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT console_sessions_kind_check CHECK ((kind = ANY (ARRAY['session'::text, 'link'::text, 'login'::text])))
);

CREATE TABLE ragd.databases (
    database_name text NOT NULL COLLATE pg_catalog."C",
    database_id uuid NOT NULL,
    url bytea NOT NULL,
    address text NOT NULL,
    owner_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    max_connections integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd.event_tenants (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    swept_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd.idempotent_calls (
    call_hash bytea NOT NULL,
    tenant_id text COLLATE pg_catalog."C",
    request_hash bytea NOT NULL,
    claim uuid NOT NULL,
    claimed_until timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    fault json,
    answer bytea,
    sealed_answer bytea,
    answer_bytes integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd.identity (
    database_id uuid NOT NULL,
    service_id uuid NOT NULL,
    only_row boolean DEFAULT true NOT NULL,
    CONSTRAINT identity_only_row_check CHECK (only_row)
);

CREATE TABLE ragd.imports (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    frames bigint DEFAULT 0 NOT NULL,
    chain bytea NOT NULL,
    state json NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE ragd.instances (
    instance_id text NOT NULL,
    heartbeat_at timestamp with time zone NOT NULL
);

CREATE TABLE ragd.issuers (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    issuer_name text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL,
    audiences text[] NOT NULL,
    jwks_url text NOT NULL,
    scope_claim text NOT NULL,
    scope_prefix text NOT NULL,
    scopes text[] NOT NULL,
    filter_claim text NOT NULL,
    bounds_claim text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd.moved_work (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    relation text NOT NULL,
    content jsonb NOT NULL
);

CREATE TABLE ragd.moves (
    move_id uuid NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    from_database text NOT NULL COLLATE pg_catalog."C",
    to_database text NOT NULL COLLATE pg_catalog."C",
    phase text NOT NULL,
    step text DEFAULT ''::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    rows bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    pause_ms bigint DEFAULT 0 NOT NULL,
    keep_until timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT moves_phase_check CHECK ((phase = ANY (ARRAY['copying'::text, 'switching'::text, 'dropping'::text, 'done'::text, 'failed'::text])))
)
WITH (fillfactor='70');

CREATE TABLE ragd.plans (
    plan_name text NOT NULL COLLATE pg_catalog."C",
    display_name text DEFAULT ''::text NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    without text[] DEFAULT '{}'::text[] NOT NULL,
    models text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd.schema_migrations (
    version bigint NOT NULL,
    dirty boolean NOT NULL
);

CREATE TABLE ragd.secrets (
    name text NOT NULL,
    value bytea NOT NULL
);

CREATE TABLE ragd.signing_keys (
    key_id text NOT NULL,
    public_key bytea NOT NULL,
    private_key bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd.sleeps (
    archive_id uuid NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    phase text NOT NULL,
    sealed_key bytea,
    frames bigint DEFAULT 0 NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT sleeps_phase_check CHECK ((phase = ANY (ARRAY['archiving'::text, 'dropping'::text, 'asleep'::text, 'awake'::text])))
);

CREATE TABLE ragd.tenant_plans (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    plan_name text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE ragd.tenants (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    display_name text DEFAULT ''::text NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    vector_store_names text[] DEFAULT '{}'::text[] NOT NULL,
    status text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    schema_version integer DEFAULT 0 NOT NULL,
    migration_error text,
    database_name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    asleep_since timestamp with time zone,
    archived_bytes bigint,
    kept_status text,
    deleted_at timestamp with time zone,
    erase_at timestamp with time zone,
    CONSTRAINT tenants_status_check CHECK ((status = ANY (ARRAY['creating'::text, 'importing'::text, 'ready'::text, 'asleep'::text, 'waking'::text, 'deleted'::text, 'deleting'::text])))
);

CREATE TABLE ragd.usage (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    hour timestamp with time zone NOT NULL,
    index_name text NOT NULL COLLATE pg_catalog."C",
    stage text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    calls bigint DEFAULT 0 NOT NULL,
    documents bigint DEFAULT 0 NOT NULL,
    chunks bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    input_tokens bigint DEFAULT 0 NOT NULL,
    output_tokens bigint DEFAULT 0 NOT NULL,
    seconds double precision DEFAULT 0 NOT NULL,
    CONSTRAINT usage_stage_check CHECK ((stage = ANY (ARRAY['ingest'::text, 'upsert'::text, 'query'::text, 'walk'::text, 'embedding'::text, 'rerank'::text, 'chat'::text, 'transcription'::text])))
)
WITH (fillfactor='80');

CREATE TABLE ragd.wal_timeline (
    only_row boolean DEFAULT true NOT NULL,
    system bigint NOT NULL,
    timeline text NOT NULL,
    mark uuid DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT wal_timeline_only_row_check CHECK (only_row)
);

ALTER TABLE ONLY ragd.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (api_key_id);

ALTER TABLE ONLY ragd.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (entry_id);

ALTER TABLE ONLY ragd.backlog
    ADD CONSTRAINT backlog_pkey PRIMARY KEY (tenant_id, document_id);

ALTER TABLE ONLY ragd.compatibility
    ADD CONSTRAINT compatibility_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY ragd.console_sessions
    ADD CONSTRAINT console_sessions_pkey PRIMARY KEY (secret_hash);

ALTER TABLE ONLY ragd.databases
    ADD CONSTRAINT databases_database_id_key UNIQUE (database_id);

ALTER TABLE ONLY ragd.databases
    ADD CONSTRAINT databases_pkey PRIMARY KEY (database_name);

ALTER TABLE ONLY ragd.event_tenants
    ADD CONSTRAINT event_tenants_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY ragd.idempotent_calls
    ADD CONSTRAINT idempotent_calls_pkey PRIMARY KEY (call_hash);

ALTER TABLE ONLY ragd.identity
    ADD CONSTRAINT identity_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY ragd.imports
    ADD CONSTRAINT imports_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY ragd.instances
    ADD CONSTRAINT instances_pkey PRIMARY KEY (instance_id);

ALTER TABLE ONLY ragd.issuers
    ADD CONSTRAINT issuers_pkey PRIMARY KEY (tenant_id, issuer_name);

ALTER TABLE ONLY ragd.issuers
    ADD CONSTRAINT issuers_tenant_id_url_key UNIQUE (tenant_id, url);

ALTER TABLE ONLY ragd.moves
    ADD CONSTRAINT moves_pkey PRIMARY KEY (move_id);

ALTER TABLE ONLY ragd.plans
    ADD CONSTRAINT plans_pkey PRIMARY KEY (plan_name);

ALTER TABLE ONLY ragd.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (name);

ALTER TABLE ONLY ragd.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (key_id);

ALTER TABLE ONLY ragd.sleeps
    ADD CONSTRAINT sleeps_pkey PRIMARY KEY (archive_id);

ALTER TABLE ONLY ragd.tenant_plans
    ADD CONSTRAINT tenant_plans_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY ragd.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY ragd.usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (tenant_id, hour, index_name, stage, model);

ALTER TABLE ONLY ragd.wal_timeline
    ADD CONSTRAINT wal_timeline_pkey PRIMARY KEY (only_row);

CREATE INDEX api_keys_origins ON ragd.api_keys USING gin (origins) WHERE (origins IS NOT NULL);

CREATE INDEX api_keys_tenant ON ragd.api_keys USING btree (tenant_id, created_at DESC, api_key_id DESC);

CREATE INDEX audit_log_recorded ON ragd.audit_log USING btree (recorded_at);

CREATE INDEX audit_log_tenant ON ragd.audit_log USING btree (tenant_id, entry_id);

CREATE INDEX backlog_claimed ON ragd.backlog USING btree (claimed_by) WHERE (claimed_by IS NOT NULL);

CREATE INDEX backlog_due ON ragd.backlog USING btree (tenant_id, due_at) WHERE (claimed_by IS NULL);

CREATE INDEX console_sessions_expires_at ON ragd.console_sessions USING btree (expires_at);

CREATE INDEX console_sessions_owner ON ragd.console_sessions USING btree (owner, created_at);

CREATE INDEX event_tenants_swept ON ragd.event_tenants USING btree (swept_at);

CREATE INDEX idempotent_calls_of_tenant ON ragd.idempotent_calls USING btree (tenant_id) INCLUDE (answer_bytes);

CREATE INDEX idempotent_calls_oldest ON ragd.idempotent_calls USING btree (created_at);

CREATE INDEX moved_work_tenant ON ragd.moved_work USING btree (tenant_id);

CREATE INDEX moves_newest ON ragd.moves USING btree (created_at DESC, move_id DESC);

CREATE UNIQUE INDEX moves_of_tenant_now ON ragd.moves USING btree (tenant_id) WHERE (phase = ANY (ARRAY['copying'::text, 'switching'::text, 'dropping'::text]));

CREATE UNIQUE INDEX sleeps_now ON ragd.sleeps USING btree (tenant_id) WHERE (phase <> 'awake'::text);

CREATE INDEX sleeps_of_tenant ON ragd.sleeps USING btree (tenant_id);

CREATE INDEX sleeps_unfinished ON ragd.sleeps USING btree (updated_at) WHERE (phase <> 'asleep'::text);

CREATE INDEX tenant_plans_of_plan ON ragd.tenant_plans USING btree (plan_name, tenant_id);

CREATE INDEX tenants_changing ON ragd.tenants USING btree (status, updated_at) WHERE ((status <> 'ready'::text) AND (status <> 'asleep'::text));

CREATE INDEX tenants_deleted ON ragd.tenants USING btree (erase_at) WHERE (status = 'deleted'::text);

CREATE INDEX tenants_placed ON ragd.tenants USING btree (database_name, tenant_id) WHERE (database_name <> ''::text);

CREATE INDEX tenants_ready ON ragd.tenants USING btree (tenant_id) WHERE (status = 'ready'::text);

CREATE INDEX usage_hour ON ragd.usage USING btree (hour);

CREATE TRIGGER audit_log_kept BEFORE DELETE OR UPDATE ON ragd.audit_log FOR EACH ROW EXECUTE FUNCTION ragd.keep_audit_log();

CREATE TRIGGER audit_log_not_truncated BEFORE TRUNCATE ON ragd.audit_log FOR EACH STATEMENT EXECUTE FUNCTION ragd.keep_audit_log();

ALTER TABLE ONLY ragd.api_keys
    ADD CONSTRAINT api_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd.event_tenants
    ADD CONSTRAINT event_tenants_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd.idempotent_calls
    ADD CONSTRAINT idempotent_calls_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd.imports
    ADD CONSTRAINT imports_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd.issuers
    ADD CONSTRAINT issuers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd.moved_work
    ADD CONSTRAINT moved_work_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd.moves
    ADD CONSTRAINT moves_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd.sleeps
    ADD CONSTRAINT sleeps_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd.tenant_plans
    ADD CONSTRAINT tenant_plans_plan_name_fkey FOREIGN KEY (plan_name) REFERENCES ragd.plans(plan_name);

ALTER TABLE ONLY ragd.tenant_plans
    ADD CONSTRAINT tenant_plans_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd.usage
    ADD CONSTRAINT usage_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;
