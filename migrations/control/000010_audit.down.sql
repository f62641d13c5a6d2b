DROP TABLE audit_log;
DROP FUNCTION keep_audit_log;
