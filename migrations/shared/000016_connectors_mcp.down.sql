DROP TABLE connector_tokens;
ALTER TABLE connectors DROP needs_authorization, DROP followed_until, DROP follower;
