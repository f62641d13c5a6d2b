-- Documents are written by the hundred: what they add to the counts of their index,
-- and what is told of them, is worked out once for a statement and not for a row.
DROP TRIGGER documents_counted ON documents;
DROP TRIGGER documents_announced ON documents;
DROP TRIGGER document_deletes_announced ON documents;
DROP FUNCTION count_documents();
DROP FUNCTION announce_document();

-- add_counts adds to the counts of indexes that still are: deleting an index deletes
-- its documents, and then there is nothing left to count.
CREATE FUNCTION add_counts(index_id bigint, chunks bigint, written bigint, ready bigint, pending bigint, failed bigint)
	RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
	INSERT INTO index_counts AS c (index_id, slot, chunks, written, ready, pending, failed)
	SELECT i.index_id, pg_backend_pid() % 16, $2, $3, $4, $5, $6
	FROM indexes AS i WHERE i.index_id = $1 AND ($2, $3, $4, $5, $6) <> (0, 0, 0, 0, 0)
	ON CONFLICT (index_id, slot) DO UPDATE SET
		chunks  = c.chunks + excluded.chunks,
		written = c.written + excluded.written,
		ready   = c.ready + excluded.ready,
		pending = c.pending + excluded.pending,
		failed  = c.failed + excluded.failed;
$$;

-- count_documents adds what a statement changed in documents to index_counts.
CREATE FUNCTION count_documents() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		PERFORM add_counts(changed.index_id, changed.chunks, changed.written, changed.ready, changed.pending, changed.failed) FROM (
			SELECT a.index_id, sum(a.chunk_count - b.chunk_count) AS chunks,
				coalesce(sum(a.chunk_count) FILTER (WHERE a.status = 'ready' AND b.status <> 'ready'), 0) AS written,
				sum((a.status = 'ready')::int - (b.status = 'ready')::int) AS ready,
				sum((a.status IN ('pending', 'processing'))::int - (b.status IN ('pending', 'processing'))::int) AS pending,
				sum((a.status = 'failed')::int - (b.status = 'failed')::int) AS failed
			FROM after AS a JOIN before AS b USING (document_id)
			WHERE (a.status, a.chunk_count) <> (b.status, b.chunk_count)
			GROUP BY a.index_id ORDER BY a.index_id) AS changed;
	ELSIF TG_OP = 'INSERT' THEN
		PERFORM add_counts(changed.index_id, 0, 0, 0, changed.documents, 0)
		FROM (SELECT a.index_id, count(*) AS documents FROM after AS a GROUP BY a.index_id ORDER BY a.index_id) AS changed;
	ELSE
		PERFORM add_counts(changed.index_id, changed.chunks, 0, changed.ready, changed.pending, changed.failed) FROM (
			SELECT b.index_id, -sum(b.chunk_count) AS chunks, -count(*) FILTER (WHERE b.status = 'ready') AS ready,
				-count(*) FILTER (WHERE b.status IN ('pending', 'processing')) AS pending,
				-count(*) FILTER (WHERE b.status = 'failed') AS failed
			FROM before AS b GROUP BY b.index_id ORDER BY b.index_id) AS changed;
	END IF;
	RETURN NULL;
END
$$;

CREATE TRIGGER documents_added AFTER INSERT ON documents REFERENCING NEW TABLE AS after
	FOR EACH STATEMENT EXECUTE FUNCTION count_documents();
CREATE TRIGGER documents_changed AFTER UPDATE ON documents REFERENCING OLD TABLE AS before NEW TABLE AS after
	FOR EACH STATEMENT EXECUTE FUNCTION count_documents();
CREATE TRIGGER documents_removed AFTER DELETE ON documents REFERENCING OLD TABLE AS before
	FOR EACH STATEMENT EXECUTE FUNCTION count_documents();

-- announce_documents tells of documents that can be searched now, have failed, or
-- are gone. Of those that go with their index there is nothing more to tell.
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

CREATE TRIGGER documents_announced AFTER UPDATE ON documents REFERENCING OLD TABLE AS before NEW TABLE AS after
	FOR EACH STATEMENT EXECUTE FUNCTION announce_documents();
CREATE TRIGGER document_deletes_announced AFTER DELETE ON documents REFERENCING OLD TABLE AS before
	FOR EACH STATEMENT EXECUTE FUNCTION announce_documents();
