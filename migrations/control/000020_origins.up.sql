-- origins are the web origins whose pages may use a key; null: it is for programs.
ALTER TABLE api_keys ADD COLUMN origins text[];
-- Browsers ask before they send a key whether a page of an origin may.
CREATE INDEX api_keys_origins ON api_keys USING gin (origins) WHERE origins IS NOT NULL;
