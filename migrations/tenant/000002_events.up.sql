-- What changed is told to every instance of the service on the channel
-- ragd_event, as {"schema", "index", "document"}, when the transaction commits.
-- A document is told of when its content can be searched, when it failed, and
-- when it is gone: not at every step of its processing, as committing a
-- notification takes a lock that all of the database shares.
CREATE FUNCTION announce_index() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		PERFORM pg_notify('ragd_event', json_build_object('schema', TG_TABLE_SCHEMA, 'index', OLD.index_name)::text);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		PERFORM pg_notify('ragd_event', json_build_object('schema', TG_TABLE_SCHEMA, 'index', NEW.index_name)::text);
	END IF;
	RETURN NULL;
END
$$;

CREATE TRIGGER indexes_announced AFTER INSERT OR DELETE OR UPDATE ON indexes
	FOR EACH ROW EXECUTE FUNCTION announce_index();

CREATE FUNCTION announce_document() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
DECLARE
	name text;
BEGIN
	-- Of documents that go with their index there is nothing more to tell.
	SELECT index_name INTO name FROM indexes WHERE index_id = OLD.index_id;
	IF FOUND THEN
		PERFORM pg_notify('ragd_event', json_build_object(
			'schema', TG_TABLE_SCHEMA, 'index', name, 'document', OLD.document_id)::text);
	END IF;
	RETURN NULL;
END
$$;

CREATE TRIGGER documents_announced AFTER UPDATE OF status ON documents
	FOR EACH ROW WHEN (NEW.status IN ('ready', 'failed') AND OLD.status <> NEW.status)
	EXECUTE FUNCTION announce_document();
CREATE TRIGGER document_deletes_announced AFTER DELETE ON documents
	FOR EACH ROW EXECUTE FUNCTION announce_document();
