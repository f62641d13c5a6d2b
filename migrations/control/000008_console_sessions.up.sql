-- console_sessions are the browsers that are signed in to the console, the links that sign one
-- in, and those that are at an authorization server. A row is found by the SHA-256 of a random secret that only the browser, or the link, has;
-- the credential is encrypted with a key that is derived from the same secret.
CREATE TABLE console_sessions (
	secret_hash bytea PRIMARY KEY,
	kind        text NOT NULL CHECK (kind IN ('session', 'link', 'login')),
	credential  bytea NOT NULL,
	owner       bytea NOT NULL, -- SHA-256 of the credential
	created_at  timestamptz NOT NULL DEFAULT now(),
	expires_at  timestamptz NOT NULL
);
CREATE INDEX console_sessions_owner ON console_sessions (owner, created_at);
CREATE INDEX console_sessions_expires_at ON console_sessions (expires_at);
