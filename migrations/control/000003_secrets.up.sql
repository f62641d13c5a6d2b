-- secrets are random keys that all instances of the service share.
CREATE TABLE secrets (
	name  text PRIMARY KEY,
	value bytea NOT NULL
);

-- gen_random_uuid has 122 random bits, of PostgreSQL's cryptographic generator.
INSERT INTO secrets (name, value)
VALUES ('page tokens', sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
