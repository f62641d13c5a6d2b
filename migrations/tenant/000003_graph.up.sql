-- What the graph of an index holds, spread over 16 rows as index_counts is.
-- version grows with every change.
CREATE TABLE graph_counts (
	index_id     bigint NOT NULL REFERENCES indexes ON DELETE CASCADE,
	slot         smallint NOT NULL,
	version      bigint NOT NULL,
	names        bigint NOT NULL,
	mentions     bigint NOT NULL,
	similarities bigint NOT NULL,
	PRIMARY KEY (index_id, slot)
) WITH (fillfactor = 50);

-- count_edges adds what a statement changed in an index's edges to graph_counts.
-- Its argument is the index.
CREATE FUNCTION count_edges() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
DECLARE
	sign int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
	INSERT INTO graph_counts AS c (index_id, slot, version, names, mentions, similarities)
	SELECT i.index_id, pg_backend_pid() % 16, 1, sign * n.names, sign * n.mentions, sign * n.similarities
	FROM (
		SELECT count(*) FILTER (WHERE type = 1) AS names, count(*) FILTER (WHERE type = 2) AS mentions,
			count(*) FILTER (WHERE type = 3) AS similarities
		FROM changed
	) AS n
	-- With its index, an edge table goes as a whole.
	JOIN indexes AS i ON i.index_id = TG_ARGV[0]::bigint
	WHERE n.names + n.mentions + n.similarities > 0
	ON CONFLICT (index_id, slot) DO UPDATE SET
		version  = c.version + 1,
		names    = c.names + excluded.names,
		mentions = c.mentions + excluded.mentions,
		similarities = c.similarities + excluded.similarities;
	RETURN NULL;
END
$$;

-- drop_edges removes the edges of deleted chunks, whose documents went as a
-- whole. What others say of them stays: mentions name no chunk.
CREATE FUNCTION drop_edges() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DELETE FROM %I.%I WHERE document_id IN (SELECT document_id FROM gone)', TG_TABLE_SCHEMA, 'edge_' || TG_ARGV[0]);
	EXECUTE format('DELETE FROM %I.%I WHERE to_document_id IN (SELECT document_id FROM gone)', TG_TABLE_SCHEMA, 'edge_' || TG_ARGV[0]);
	RETURN NULL;
END
$$;

-- make_edges makes the edge table of an index. Chunks are told by document and
-- ordinal. A row is a name that the chunk has (type 1), a name that its text
-- mentions (2) or another chunk that is near by embedding (3, once for both).
-- That the next chunk of a document is next needs no row.
CREATE FUNCTION make_edges(index_id bigint, chunk_table regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	schema_name name := (SELECT n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = chunk_table);
	edge        text := format('%I.%I', schema_name, 'edge_' || index_id);
BEGIN
	EXECUTE format('CREATE TABLE %s (
		document_id    uuid NOT NULL,
		ordinal        int NOT NULL,
		type           smallint NOT NULL,
		key            bigint,                -- of the name: types 1 and 2
		kind           text COLLATE "C",      -- of the name: type 1
		name           text COLLATE "C",      -- as it is written: type 1
		to_document_id uuid,                  -- type 3
		to_ordinal     int,                   -- type 3
		cosine         real                   -- type 3
	)', edge);
	EXECUTE format('CREATE INDEX ON %s (document_id, ordinal)', edge);
	EXECUTE format('CREATE UNIQUE INDEX ON %s (key, type, document_id, ordinal) WHERE key IS NOT NULL', edge);
	EXECUTE format('CREATE UNIQUE INDEX ON %s (to_document_id, to_ordinal, document_id, ordinal) WHERE to_document_id IS NOT NULL', edge);
	EXECUTE format('CREATE TRIGGER edges_added AFTER INSERT ON %s REFERENCING NEW TABLE AS changed
		FOR EACH STATEMENT EXECUTE FUNCTION %I.count_edges(%L)', edge, schema_name, index_id);
	EXECUTE format('CREATE TRIGGER edges_dropped AFTER DELETE ON %s REFERENCING OLD TABLE AS changed
		FOR EACH STATEMENT EXECUTE FUNCTION %I.count_edges(%L)', edge, schema_name, index_id);
	EXECUTE format('CREATE TRIGGER chunks_dropped AFTER DELETE ON %s REFERENCING OLD TABLE AS gone
		FOR EACH STATEMENT EXECUTE FUNCTION %I.drop_edges(%L)', chunk_table, schema_name, index_id);
END
$$;

DO $$
DECLARE
	index_id bigint;
BEGIN
	FOR index_id IN SELECT i.index_id FROM indexes AS i LOOP
		PERFORM make_edges(index_id, ('chunk_' || index_id)::regclass);
	END LOOP;
END
$$;
