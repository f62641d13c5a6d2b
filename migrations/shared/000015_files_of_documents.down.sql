CREATE OR REPLACE FUNCTION documents_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.count_documents(TG_TABLE_SCHEMA, n.index_id, n.chunks, 0, n.ready, n.pending, n.failed, n.documents, n.bytes, n.deleted) FROM (
		SELECT b.index_id, -sum(b.chunk_count) AS chunks, -count(*) AS documents, -sum(b.byte_size)::bigint AS bytes, -count(*) FILTER (WHERE b.status = 'ready') AS ready,
			-count(*) FILTER (WHERE b.status IN ('pending', 'processing')) AS pending,
			-count(*) FILTER (WHERE b.status IN ('failed', 'needs_ocr')) AS failed, array_agg(b.document_id) AS deleted
		FROM before AS b GROUP BY b.index_id ORDER BY b.index_id) AS n;
	RETURN NULL;
END
$$;
DROP FUNCTION forget_files;
