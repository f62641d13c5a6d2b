-- signing_keys are the keys with which the service signs tokens about its callers, for the
-- endpoints of tools. The public ones are published.
CREATE TABLE signing_keys (
	key_id      text PRIMARY KEY,
	public_key  bytea NOT NULL, -- Ed25519
	private_key bytea NOT NULL, -- encrypted by package seal
	created_at  timestamptz NOT NULL DEFAULT now()
);
