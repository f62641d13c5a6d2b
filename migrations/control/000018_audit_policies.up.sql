-- Entries of the kind policy sum up what policies of a tenant did to calls of its tools.
ALTER TABLE audit_log DROP CONSTRAINT audit_log_kind_check, ADD CONSTRAINT audit_log_kind_check CHECK (kind IN ('action', 'denied', 'policy'));
