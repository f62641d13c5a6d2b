-- quota_warnings are the quotas that a tenant has nearly used up, and of which it was warned.
CREATE TABLE quota_warnings (
	tenant_id   text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	quota       text COLLATE "C",
	period      text NOT NULL,   -- the month of a quota that begins anew, else empty
	quota_limit bigint NOT NULL, -- as it was
	warned_at   timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, quota)
);
ALTER TABLE quota_warnings ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON quota_warnings USING (tenant_id = current_tenant());
CREATE TRIGGER refuse_stopped BEFORE INSERT OR UPDATE OR DELETE ON quota_warnings FOR EACH STATEMENT EXECUTE FUNCTION refuse_stopped();
