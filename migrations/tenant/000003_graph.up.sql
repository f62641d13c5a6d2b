-- edge_type is the type of a row of an edge table. Rows are stored in the order of these
-- values.
CREATE TYPE edge_type AS ENUM (
	'name',    -- the chunk has a name: key, kind, name
	'mention', -- the chunk mentions a name: key
	'similar', -- another chunk is near by embedding: to_document_id, to_ordinal, cosine; one row for both directions
	'prefix',  -- the chunk has a name that begins with these words: key
	'section'  -- the chunk is in a section that begins in another chunk: to_document_id, to_ordinal
);

-- graph_counts counts the edges of an index, spread over up to 16 rows as in index_counts.
CREATE TABLE graph_counts (
	index_id     bigint NOT NULL REFERENCES indexes ON DELETE CASCADE,
	slot         smallint NOT NULL,
	version      bigint NOT NULL, -- grows with every change
	names        bigint NOT NULL,
	mentions     bigint NOT NULL,
	similarities bigint NOT NULL,
	PRIMARY KEY (index_id, slot)
) WITH (fillfactor = 50);

-- count_edges adds the changes of one statement in an edge table to graph_counts. Its
-- argument is the index. It does nothing for an index that is being deleted.
CREATE FUNCTION count_edges() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
DECLARE
	sign int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
	INSERT INTO graph_counts AS c (index_id, slot, version, names, mentions, similarities)
	SELECT i.index_id, pg_backend_pid() % 16, 1, sign * n.names, sign * n.mentions, sign * n.similarities
	FROM (
		SELECT count(*) FILTER (WHERE type = 'name') AS names, count(*) FILTER (WHERE type = 'mention') AS mentions,
			count(*) FILTER (WHERE type = 'similar') AS similarities, count(*) AS rows
		FROM changed
	) AS n
	JOIN indexes AS i ON i.index_id = TG_ARGV[0]::bigint
	WHERE n.rows > 0
	ON CONFLICT (index_id, slot) DO UPDATE SET
		version  = c.version + 1,
		names    = c.names + excluded.names,
		mentions = c.mentions + excluded.mentions,
		similarities = c.similarities + excluded.similarities;
	RETURN NULL;
END
$$;

-- delete_edges deletes the edges from and to deleted chunks. Chunks are only deleted
-- with their whole document. Its argument is the index. It locks the edges in the order in
-- which they are inserted and in which others delete them, so that two writers whose
-- documents share edges cannot deadlock.
CREATE FUNCTION delete_edges() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	documents uuid[] := ARRAY(SELECT DISTINCT d.document_id FROM deleted AS d WHERE d.document_id IS NOT NULL);
BEGIN
	IF cardinality(documents) = 0 THEN
		RETURN NULL;
	END IF;
	EXECUTE format('
		WITH named AS MATERIALIZED (
			SELECT e.ctid FROM %1$I.%2$I AS e WHERE e.document_id = ANY($1) AND e.key IS NOT NULL
			ORDER BY e.key, e.type, e.document_id, e.ordinal FOR UPDATE
		), linked AS MATERIALIZED (
			SELECT e.ctid FROM %1$I.%2$I AS e WHERE e.key IS NULL AND (e.document_id = ANY($1) OR e.to_document_id = ANY($1))
			ORDER BY e.to_document_id, e.to_ordinal, e.document_id, e.ordinal FOR UPDATE
		)
		DELETE FROM %1$I.%2$I WHERE ctid = ANY(ARRAY(SELECT ctid FROM named UNION ALL SELECT ctid FROM linked))',
		TG_TABLE_SCHEMA, 'edge_' || TG_ARGV[0]) USING documents;
	RETURN NULL;
END
$$;

-- create_edge_table makes the edge table of an index, and the trigger that deletes the
-- edges of chunks. A chunk is identified by document and ordinal. That one chunk follows
-- another in a document needs no row.
CREATE FUNCTION create_edge_table(index_id bigint, chunk_table regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	schema_name name := (SELECT n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = chunk_table);
	edge        text := format('%I.%I', schema_name, 'edge_' || index_id);
BEGIN
	EXECUTE format('CREATE TABLE %s (
		document_id    uuid NOT NULL,
		ordinal        int NOT NULL,
		type           %I.edge_type NOT NULL,
		key            bigint,           -- hash of a name
		kind           text COLLATE "C", -- of a name
		name           text COLLATE "C", -- as it is written
		to_document_id uuid,
		to_ordinal     int,
		cosine         real
	)', edge, schema_name);
	EXECUTE format('CREATE INDEX ON %s (document_id, ordinal)', edge);
	EXECUTE format('CREATE UNIQUE INDEX ON %s (key, type, document_id, ordinal) WHERE key IS NOT NULL', edge);
	EXECUTE format('CREATE UNIQUE INDEX ON %s (to_document_id, to_ordinal, document_id, ordinal) WHERE to_document_id IS NOT NULL', edge);
	-- All names of an index, to compare a batch of texts with them when they are few.
	EXECUTE format('CREATE INDEX ON %s (key) WHERE type = ''name''', edge);
	EXECUTE format('CREATE TRIGGER count_inserted_edges AFTER INSERT ON %s REFERENCING NEW TABLE AS changed
		FOR EACH STATEMENT EXECUTE FUNCTION %I.count_edges(%L)', edge, schema_name, index_id);
	EXECUTE format('CREATE TRIGGER count_deleted_edges AFTER DELETE ON %s REFERENCING OLD TABLE AS changed
		FOR EACH STATEMENT EXECUTE FUNCTION %I.count_edges(%L)', edge, schema_name, index_id);
	EXECUTE format('CREATE TRIGGER delete_edges AFTER DELETE ON %s REFERENCING OLD TABLE AS deleted
		FOR EACH STATEMENT EXECUTE FUNCTION %I.delete_edges(%L)', chunk_table, schema_name, index_id);
END
$$;
