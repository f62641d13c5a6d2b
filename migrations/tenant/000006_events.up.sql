-- Changes are announced to every instance of the service on the channel ragd_event, when
-- their transaction commits, as {"schema", "index"}, {"schema", "index", "document"} or
-- {"schema", "tool"}.

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

CREATE TRIGGER announce_index AFTER INSERT OR DELETE OR UPDATE ON indexes
	FOR EACH ROW EXECUTE FUNCTION announce_index();

-- announce_documents announces documents that have become ready, have failed or were
-- deleted. It leaves out other changes, as committing a notification takes a lock that the
-- whole database shares, and documents that are deleted with their index.
CREATE FUNCTION announce_documents() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		PERFORM pg_notify('ragd_event', json_build_object(
			'schema', TG_TABLE_SCHEMA, 'index', i.index_name, 'document', a.document_id)::text)
		FROM after AS a JOIN before AS b USING (document_id) JOIN indexes AS i ON i.index_id = a.index_id
		WHERE a.status IN ('ready', 'failed') AND a.status <> b.status;
	ELSE
		PERFORM pg_notify('ragd_event', json_build_object(
			'schema', TG_TABLE_SCHEMA, 'index', i.index_name, 'document', b.document_id)::text)
		FROM before AS b JOIN indexes AS i USING (index_id);
	END IF;
	RETURN NULL;
END
$$;

CREATE TRIGGER announce_updated_documents AFTER UPDATE ON documents REFERENCING OLD TABLE AS before NEW TABLE AS after
	FOR EACH STATEMENT EXECUTE FUNCTION announce_documents();
CREATE TRIGGER announce_deleted_documents AFTER DELETE ON documents REFERENCING OLD TABLE AS before
	FOR EACH STATEMENT EXECUTE FUNCTION announce_documents();

CREATE FUNCTION announce_tool() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('ragd_event', json_build_object('schema', TG_TABLE_SCHEMA, 'tool', coalesce(NEW.tool_name, OLD.tool_name))::text);
	RETURN NULL;
END
$$;

CREATE TRIGGER announce_tool AFTER INSERT OR DELETE OR UPDATE ON tools
	FOR EACH ROW EXECUTE FUNCTION announce_tool();
