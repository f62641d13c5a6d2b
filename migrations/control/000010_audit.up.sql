-- audit_log has the administrative actions of all tenants, and summed up the calls that were
-- denied; see package audit. Entries outlive their tenants.
CREATE TABLE audit_log (
	entry_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	kind        text COLLATE "C" NOT NULL CHECK (kind IN ('action', 'denied')),
	tenant_id   text COLLATE "C" NOT NULL, -- of the object; empty for none
	subject     text COLLATE "C" NOT NULL, -- empty if the caller is not known
	operator    boolean NOT NULL, -- the caller is one
	issuer      text COLLATE "C" NOT NULL, -- of an access token
	client      text COLLATE "C" NOT NULL, -- an address
	method      text COLLATE "C" NOT NULL,
	object      jsonb NOT NULL,
	request_id  text COLLATE "C" NOT NULL, -- of the first call
	calls       integer NOT NULL,
	outcome     text COLLATE "C", -- null: not known, or not yet
	answered_at timestamptz,
	result      jsonb
);

CREATE INDEX audit_log_tenant ON audit_log (tenant_id, entry_id);
CREATE INDEX audit_log_recorded ON audit_log (recorded_at);

-- keep_audit_log refuses all changes of entries but the one that adds an outcome, and their
-- deletion within 30 days.
CREATE FUNCTION keep_audit_log() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
	IF TG_OP = 'DELETE' AND OLD.recorded_at < clock_timestamp() - interval '30 days' THEN
		RETURN OLD;
	ELSIF TG_OP = 'UPDATE' AND OLD.outcome IS NULL AND NEW.outcome IS NOT NULL
		AND to_jsonb(NEW) - '{outcome,answered_at,result}'::text[] = to_jsonb(OLD) - '{outcome,answered_at,result}'::text[] THEN
		RETURN NEW;
	END IF;
	RAISE EXCEPTION 'the audit log is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER audit_log_kept BEFORE UPDATE OR DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION keep_audit_log();
CREATE TRIGGER audit_log_not_truncated BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_log();
