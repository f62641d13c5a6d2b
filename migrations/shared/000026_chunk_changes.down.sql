CREATE OR REPLACE FUNCTION count_documents(schema name, index_id bigint, chunks bigint, written bigint, ready bigint, pending bigint, failed bigint, documents bigint, bytes bigint, announced uuid[])
	RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF (chunks, written, ready, pending, failed, documents, bytes) <> (0, 0, 0, 0, 0, 0, 0) THEN
		EXECUTE format('
			INSERT INTO %1$I.index_counts AS c (index_id, slot, chunks, written, ready, pending, failed, documents, bytes)
			SELECT i.index_id, pg_backend_pid() %% 16, $2, $3, $4, $5, $6, $7, $8 FROM %1$I.indexes AS i WHERE i.index_id = $1
			ON CONFLICT (index_id, slot) DO UPDATE SET
				chunks  = c.chunks + excluded.chunks,
				written = c.written + excluded.written,
				ready   = c.ready + excluded.ready,
				pending = c.pending + excluded.pending,
				failed  = c.failed + excluded.failed,
				documents = c.documents + excluded.documents,
				bytes   = c.bytes + excluded.bytes', schema) USING index_id, chunks, written, ready, pending, failed, documents, bytes;
	END IF;
	IF announced IS NOT NULL THEN
		EXECUTE format('
			SELECT pg_notify(''ragd_event'', json_build_object(''schema'', $1, ''kind'', ''document'', ''name'', d.document_id, ''index'', i.index_name)::text)
			FROM %I.indexes AS i CROSS JOIN unnest($3) AS d (document_id) WHERE i.index_id = $2', schema) USING schema, index_id, announced;
		PERFORM ragd_shared.record_documents(schema, announced);
	END IF;
END
$$;
DROP FUNCTION record_chunks(bigint, bigint, bigint, uuid[], text, text[]);
DROP TABLE chunk_changes;
DROP TABLE watched_indexes;
