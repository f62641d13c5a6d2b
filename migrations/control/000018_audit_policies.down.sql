-- Older entries of the kind policy remain: nothing may change them.
ALTER TABLE audit_log DROP CONSTRAINT audit_log_kind_check, ADD CONSTRAINT audit_log_kind_check CHECK (kind IN ('action', 'denied')) NOT VALID;
