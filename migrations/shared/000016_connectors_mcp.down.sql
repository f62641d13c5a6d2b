DROP TABLE connector_tokens;
DROP TRIGGER offers_changed ON connectors;
DROP FUNCTION offers_changed;
ALTER TABLE connectors DROP offers, DROP needs_authorization, DROP followed_until, DROP follower;
