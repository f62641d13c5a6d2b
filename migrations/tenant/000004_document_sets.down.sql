DROP TRIGGER document_deletes_announced ON documents;
DROP TRIGGER documents_announced ON documents;
DROP TRIGGER documents_removed ON documents;
DROP TRIGGER documents_changed ON documents;
DROP TRIGGER documents_added ON documents;
DROP FUNCTION announce_documents();
DROP FUNCTION count_documents();
DROP FUNCTION add_counts(bigint, bigint, bigint, bigint, bigint, bigint);

-- count_documents adds what changed in documents to index_counts.
CREATE FUNCTION count_documents() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
DECLARE
	before documents;
	after  documents;
BEGIN
	IF TG_OP <> 'INSERT' THEN before := OLD; END IF;
	IF TG_OP <> 'DELETE' THEN after := NEW; END IF;
	IF TG_OP = 'UPDATE' AND (before.status, before.chunk_count) = (after.status, after.chunk_count) THEN
		RETURN NULL;
	END IF;
	-- Deleting an index deletes its documents: there is nothing left to count.
	IF NOT EXISTS (SELECT FROM indexes WHERE index_id = coalesce(after.index_id, before.index_id)) THEN
		RETURN NULL;
	END IF;
	INSERT INTO index_counts AS c (index_id, slot, chunks, written, ready, pending, failed)
	VALUES (
		coalesce(after.index_id, before.index_id),
		pg_backend_pid() % 16,
		coalesce(after.chunk_count, 0) - coalesce(before.chunk_count, 0),
		CASE WHEN after.status = 'ready' AND before.status IS DISTINCT FROM 'ready' THEN after.chunk_count ELSE 0 END,
		(after.status IS NOT DISTINCT FROM 'ready')::int - (before.status IS NOT DISTINCT FROM 'ready')::int,
		coalesce(after.status IN ('pending', 'processing'), false)::int - coalesce(before.status IN ('pending', 'processing'), false)::int,
		(after.status IS NOT DISTINCT FROM 'failed')::int - (before.status IS NOT DISTINCT FROM 'failed')::int
	)
	ON CONFLICT (index_id, slot) DO UPDATE SET
		chunks  = c.chunks + excluded.chunks,
		written = c.written + excluded.written,
		ready   = c.ready + excluded.ready,
		pending = c.pending + excluded.pending,
		failed  = c.failed + excluded.failed;
	RETURN NULL;
END
$$;

CREATE TRIGGER documents_counted AFTER INSERT OR DELETE OR UPDATE OF status, chunk_count ON documents
	FOR EACH ROW EXECUTE FUNCTION count_documents();

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
