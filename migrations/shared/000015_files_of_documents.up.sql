-- forget_files deletes what vector_store_files keeps of documents that are deleted from an index.
CREATE FUNCTION forget_files(schema name, index_id bigint, uris text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('
		DELETE FROM ragd_shared.vector_store_files AS f USING %I.indexes AS i
		WHERE i.index_id = $1 AND f.index_name = i.index_name AND f.refused IS NULL
			AND f.file_id = ANY(ARRAY(SELECT split_part(u, ''/'', 1) FROM unnest($2) AS u)) AND f.file_id || ''/'' || f.file_name = ANY($2)', schema) USING index_id, uris;
END
$$;

CREATE OR REPLACE FUNCTION documents_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.count_documents(TG_TABLE_SCHEMA, n.index_id, n.chunks, 0, n.ready, n.pending, n.failed, n.documents, n.bytes, n.deleted) FROM (
		SELECT b.index_id, -sum(b.chunk_count) AS chunks, -count(*) AS documents, -sum(b.byte_size)::bigint AS bytes, -count(*) FILTER (WHERE b.status = 'ready') AS ready,
			-count(*) FILTER (WHERE b.status IN ('pending', 'processing')) AS pending,
			-count(*) FILTER (WHERE b.status IN ('failed', 'needs_ocr')) AS failed, array_agg(b.document_id) AS deleted
		FROM before AS b GROUP BY b.index_id ORDER BY b.index_id) AS n;
	PERFORM ragd_shared.forget_files(TG_TABLE_SCHEMA, n.index_id, n.uris)
	FROM (SELECT b.index_id, array_agg(b.uri) AS uris FROM before AS b WHERE b.namespace = 'default' AND b.uri LIKE 'file-%/%' GROUP BY b.index_id) AS n;
	RETURN NULL;
END
$$;

-- Documents that were deleted earlier.
DO $$
DECLARE
	tenant text;
BEGIN
	FOR tenant IN SELECT DISTINCT f.tenant_id FROM vector_store_files AS f WHERE to_regclass(format('%I.documents', 'tenant_' || f.tenant_id)) IS NOT NULL LOOP
		EXECUTE format('
			DELETE FROM vector_store_files AS f WHERE f.tenant_id = $1 AND f.refused IS NULL AND NOT EXISTS (
				SELECT FROM %1$I.documents AS d JOIN %1$I.indexes AS i USING (index_id)
				WHERE i.index_name = f.index_name AND d.namespace = ''default'' AND d.uri = f.file_id || ''/'' || f.file_name)', 'tenant_' || tenant) USING tenant;
	END LOOP;
END
$$;
