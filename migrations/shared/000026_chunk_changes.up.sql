-- watched_indexes are indexes of which an instance has the metadata of chunks in memory. Their changes are recorded for a while.
CREATE TABLE watched_indexes (
	tenant_id text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	index_id  bigint,
	until     timestamptz NOT NULL,
	PRIMARY KEY (tenant_id, index_id)
);

ALTER TABLE watched_indexes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON watched_indexes USING (tenant_id = current_tenant());
CREATE TRIGGER refuse_stopped BEFORE INSERT OR UPDATE OR DELETE ON watched_indexes FOR EACH STATEMENT EXECUTE FUNCTION refuse_stopped();

-- chunk_changes are what transactions have changed in watched indexes: what they added to index_counts, and of which documents
-- or ready-made vectors.
CREATE TABLE chunk_changes (
	tenant_id  text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	index_id   bigint NOT NULL,
	xid        xid8 NOT NULL DEFAULT pg_current_xact_id(), -- with a snapshot it tells what a reader has seen
	number     bigint GENERATED ALWAYS AS IDENTITY,
	chunks     bigint NOT NULL,
	written    bigint NOT NULL,
	documents  uuid[], -- null for none
	namespace  text COLLATE "C", -- of the ready-made vectors
	chunk_ids  text[], -- null for none; with documents null too: it is not known which chunks have changed
	created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (tenant_id, index_id, xid, number)
);

ALTER TABLE chunk_changes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON chunk_changes USING (tenant_id = current_tenant());
CREATE TRIGGER refuse_stopped BEFORE INSERT OR UPDATE OR DELETE ON chunk_changes FOR EACH STATEMENT EXECUTE FUNCTION refuse_stopped();

-- record_chunks records a change of an index that is watched. More ids than most are not listed.
CREATE FUNCTION record_chunks(index_id bigint, chunks bigint, written bigint, documents uuid[], namespace text, chunk_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	most CONSTANT int := 5000;
BEGIN
	INSERT INTO ragd_shared.chunk_changes (index_id, chunks, written, documents, namespace, chunk_ids)
	SELECT w.index_id, record_chunks.chunks, record_chunks.written, CASE WHEN cardinality(record_chunks.documents) <= most THEN record_chunks.documents END,
		record_chunks.namespace, CASE WHEN cardinality(record_chunks.chunk_ids) <= most THEN record_chunks.chunk_ids END
	FROM ragd_shared.watched_indexes AS w
	WHERE w.tenant_id = ragd_shared.current_tenant() AND w.index_id = record_chunks.index_id AND w.until > now();
END
$$;

-- count_documents adds to the counts of an index and announces documents, unless they are
-- null. It does nothing for an index that is being deleted with its documents. Chunks change only with
-- documents that are announced.
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
	IF (chunks, written) <> (0, 0) THEN
		PERFORM ragd_shared.record_chunks(index_id, chunks, written, announced, NULL, NULL);
	END IF;
	IF announced IS NOT NULL THEN
		EXECUTE format('
			SELECT pg_notify(''ragd_event'', json_build_object(''schema'', $1, ''kind'', ''document'', ''name'', d.document_id, ''index'', i.index_name)::text)
			FROM %I.indexes AS i CROSS JOIN unnest($3) AS d (document_id) WHERE i.index_id = $2', schema) USING schema, index_id, announced;
		PERFORM ragd_shared.record_documents(schema, announced);
	END IF;
END
$$;
