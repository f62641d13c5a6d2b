DROP INDEX api_keys_origins;
ALTER TABLE api_keys DROP COLUMN origins;
