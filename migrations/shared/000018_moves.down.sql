DROP FUNCTION record_keys();
DROP FUNCTION refuse_stopped() CASCADE; -- with the triggers that call it
DROP FUNCTION check_writable(text);
DROP TABLE stopped_tenants;
