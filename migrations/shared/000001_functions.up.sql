-- This schema has what the schemas of all tenants use: functions, types, and tables whose
-- rows belong to one tenant each (row level security). Functions run with the rights of
-- their caller, a tenant's role. Triggers find the tables of the tenant by TG_TABLE_SCHEMA;
-- names in the text of functions are qualified, because it is resolved in the session.

-- current_tenant returns the tenant as whose role the statement runs; null for other roles.
CREATE FUNCTION current_tenant() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN starts_with(current_user, 'tenant_') THEN substr(current_user, length('tenant_') + 1) END;

-- Changes are announced to every instance of the service on the channel ragd_event, when
-- their transaction commits, as {"schema", "kind", "name"}, and with "index" for what is in an index.

-- announce announces a row of a table with rows of all tenants that was created, changed or
-- deleted. Its arguments are the kind, the column that names the row, and, for what may be over an
-- index, the path of its name in the row as JSON. A row that moves to another index has changed in
-- both.
--
--	CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON tools
--		FOR EACH ROW EXECUTE FUNCTION announce('tool', 'tool_name', '{settings,indexName}');
CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	before  jsonb := to_jsonb(CASE WHEN TG_OP = 'INSERT' THEN NEW ELSE OLD END);
	changed jsonb := to_jsonb(CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END);
	within  text;
BEGIN
	FOR within IN SELECT DISTINCT coalesce(r #>> TG_ARGV[2]::text[], '') FROM unnest(ARRAY[before, changed]) AS r LOOP
		PERFORM pg_notify('ragd_event', json_build_object(
			'schema', 'tenant_' || (changed ->> 'tenant_id'), 'kind', TG_ARGV[0], 'name', changed ->> TG_ARGV[1], 'index', within)::text);
		PERFORM ragd_shared.record_change(TG_ARGV[0], changed ->> TG_ARGV[1], within, TG_OP);
	END LOOP;
	RETURN NULL;
END
$$;

-- count_documents adds to the counts of an index and announces documents, unless they are
-- null. It does nothing for an index that is being deleted with its documents.
CREATE FUNCTION count_documents(schema name, index_id bigint, chunks bigint, written bigint, ready bigint, pending bigint, failed bigint, documents bigint, bytes bigint, announced uuid[])
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

-- The following add the changes of one statement in documents to index_counts, and announce
-- documents that have become ready, have failed or were deleted. They announce no other
-- changes, as committing a notification takes a lock that the whole database shares. A server
-- process keeps a copy of a trigger's function, with the plans of its statements, for each
-- table: the functions are small, and what they share is in count_documents.

CREATE FUNCTION documents_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.count_documents(TG_TABLE_SCHEMA, n.index_id, 0, 0, 0, n.documents, 0, n.documents, n.bytes, NULL)
	FROM (SELECT a.index_id, count(*) AS documents, sum(a.byte_size)::bigint AS bytes FROM after AS a GROUP BY a.index_id ORDER BY a.index_id) AS n;
	RETURN NULL;
END
$$;

CREATE FUNCTION documents_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.count_documents(TG_TABLE_SCHEMA, n.index_id, n.chunks, n.written, n.ready, n.pending, n.failed, 0, n.bytes, n.ended) FROM (
		SELECT a.index_id, sum(a.chunk_count - b.chunk_count) AS chunks, sum(a.byte_size - b.byte_size)::bigint AS bytes,
			coalesce(sum(a.chunk_count) FILTER (WHERE a.status = 'ready' AND b.status <> 'ready'), 0) AS written,
			sum((a.status = 'ready')::int - (b.status = 'ready')::int) AS ready,
			sum((a.status IN ('pending', 'processing'))::int - (b.status IN ('pending', 'processing'))::int) AS pending,
			sum((a.status IN ('failed', 'needs_ocr'))::int - (b.status IN ('failed', 'needs_ocr'))::int) AS failed,
			array_agg(a.document_id) FILTER (WHERE a.status IN ('ready', 'failed', 'needs_ocr') AND a.status <> b.status) AS ended
		FROM after AS a JOIN before AS b USING (document_id)
		WHERE (a.status, a.chunk_count, a.byte_size) <> (b.status, b.chunk_count, b.byte_size)
		GROUP BY a.index_id ORDER BY a.index_id) AS n;
	RETURN NULL;
END
$$;

CREATE FUNCTION documents_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.count_documents(TG_TABLE_SCHEMA, n.index_id, n.chunks, 0, n.ready, n.pending, n.failed, n.documents, n.bytes, n.deleted) FROM (
		SELECT b.index_id, -sum(b.chunk_count) AS chunks, -count(*) AS documents, -sum(b.byte_size)::bigint AS bytes, -count(*) FILTER (WHERE b.status = 'ready') AS ready,
			-count(*) FILTER (WHERE b.status IN ('pending', 'processing')) AS pending,
			-count(*) FILTER (WHERE b.status IN ('failed', 'needs_ocr')) AS failed, array_agg(b.document_id) AS deleted
		FROM before AS b GROUP BY b.index_id ORDER BY b.index_id) AS n;
	RETURN NULL;
END
$$;

-- The following write the events of documents that were deleted, and of jobs that were queued or
-- whose status has changed.

CREATE FUNCTION deleted_recorded() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.record_deleted(TG_TABLE_SCHEMA, n.index_id, n.documents)
	FROM (SELECT b.index_id, jsonb_agg(to_jsonb(b)) AS documents FROM before AS b GROUP BY b.index_id) AS n;
	RETURN NULL;
END
$$;

CREATE FUNCTION jobs_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.record_jobs(TG_TABLE_SCHEMA, ARRAY(SELECT a.job_id FROM after AS a));
	RETURN NULL;
END
$$;

CREATE FUNCTION jobs_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.record_jobs(TG_TABLE_SCHEMA, ARRAY(SELECT a.job_id FROM after AS a JOIN before AS b USING (job_id) WHERE a.status <> b.status));
	RETURN NULL;
END
$$;

-- index_changed announces an index that was created, changed or deleted.
CREATE FUNCTION index_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	name text := CASE WHEN TG_OP = 'DELETE' THEN OLD.index_name ELSE NEW.index_name END;
BEGIN
	IF TG_OP <> 'INSERT' THEN
		PERFORM pg_notify('ragd_event', json_build_object('schema', TG_TABLE_SCHEMA, 'kind', 'index', 'name', OLD.index_name)::text);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		PERFORM pg_notify('ragd_event', json_build_object('schema', TG_TABLE_SCHEMA, 'kind', 'index', 'name', NEW.index_name)::text);
	END IF;
	PERFORM ragd_shared.record_change('index', name, name, TG_OP);
	RETURN NULL;
END
$$;

-- term_dimension returns the dimension of a term in the column term_weights of chunk
-- tables, from 1 to 2^29. Two terms of one text rarely share a dimension; when they do,
-- the heavier one counts.
CREATE FUNCTION term_dimension(term text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (hashtextextended(term, 0) & 536870911) + 1;

-- weigh_terms sets the columns that keyword search reads of a chunk: terms, its terms
-- with their positions, and term_weights, the part of each term's BM25 score that
-- depends on the chunk alone:
--
--	count / (count + k1 * (1 - b + b * length / typical_length))
--
-- length counts the words that are not stop words. BM25 divides it by the mean length
-- of all chunks, with which the weights would change whenever a chunk is written; with
-- a constant instead, measured retrieval quality is the same. A writer of many chunks
-- sets the columns itself, in half the time, and the trigger does not fire; the constants
-- are repeated there.
--
-- A term that weighs more than weak_weight is also in terms with the character 1 after it.
--
-- The text of a vector without one is the text in its metadata, where clients of vector
-- stores keep it.
--
-- Its argument is the text search configuration.
CREATE FUNCTION weigh_terms() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
DECLARE
	k1             CONSTANT float8 := 0.9;
	b              CONSTANT float8 := 0.4;
	typical_length CONSTANT float8 := 50;
	max_terms      CONSTANT int := 16000; -- the capacity of a sparsevec
	weak_weight    CONSTANT real := 0.65;
	max_lexeme     CONSTANT int := 2046;  -- bytes of a term
	length         float8;
	strong         text[];
BEGIN
	NEW.terms := to_tsvector(TG_ARGV[0]::regconfig,
		CASE WHEN NEW.text = '' AND NEW.document_id IS NULL THEN coalesce(NEW.metadata->>'text', '') ELSE NEW.text END);
	length := (SELECT sum(cardinality(t.positions)) FROM unnest(NEW.terms) AS t);
	SELECT ('{' || string_agg(w.dimension || ':' || w.weight, ',') || '}/1000000000')::sparsevec,
		array_agg(w.lexeme || E'\x01') FILTER (WHERE w.weight > weak_weight AND octet_length(w.lexeme) < max_lexeme)
	INTO NEW.term_weights, strong
	FROM (
		SELECT DISTINCT ON (term_dimension(t.lexeme)) term_dimension(t.lexeme) AS dimension, t.lexeme,
			(cardinality(t.positions) / (cardinality(t.positions) + k1 * (1 - b + b * length / typical_length)))::real AS weight
		FROM unnest(NEW.terms) AS t ORDER BY 1, 3 DESC
		LIMIT max_terms
	) AS w;
	IF strong IS NOT NULL THEN
		NEW.terms := NEW.terms || array_to_tsvector(strong);
	END IF;
	RETURN NEW;
END
$$;

-- edge_type is the type of a row of an edge table. Rows are sorted in the order of these
-- values.
CREATE TYPE edge_type AS ENUM (
	'name',    -- the chunk has a name: key, kind, name
	'mention', -- the chunk mentions a name: key
	'similar', -- another chunk is near by embedding: to_document_id, to_ordinal, cosine; one row for both directions
	'prefix',  -- the chunk has a name that begins with these words: key
	'section'  -- the chunk is in a section that begins in another chunk: to_document_id, to_ordinal
);

-- count_edges adds to the counts of the edges of an index, with a sign. It does nothing for
-- an index that is being deleted.
CREATE FUNCTION count_edges(schema name, index_id bigint, sign int, names bigint, mentions bigint, similarities bigint)
	RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('
		INSERT INTO %1$I.index_counts AS c (index_id, slot, graph_version, names, mentions, similarities)
		SELECT i.index_id, pg_backend_pid() %% 16, 1, $2, $3, $4 FROM %1$I.indexes AS i WHERE i.index_id = $1
		ON CONFLICT (index_id, slot) DO UPDATE SET
			graph_version = c.graph_version + 1,
			names         = c.names + excluded.names,
			mentions      = c.mentions + excluded.mentions,
			similarities  = c.similarities + excluded.similarities', schema) USING index_id, sign * names, sign * mentions, sign * similarities;
END
$$;

-- edges_changed adds the changes of one statement in an edge table to index_counts. Its
-- argument is the index.
CREATE FUNCTION edges_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.count_edges(TG_TABLE_SCHEMA, TG_ARGV[0]::bigint, CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END, n.names, n.mentions, n.similarities)
	FROM (
		SELECT count(*) FILTER (WHERE type = 'name') AS names, count(*) FILTER (WHERE type = 'mention') AS mentions,
			count(*) FILTER (WHERE type = 'similar') AS similarities, count(*) AS rows
		FROM changed) AS n
	WHERE n.rows > 0;
	RETURN NULL;
END
$$;

-- delete_edges deletes the edges from and to deleted chunks and their memberships of topics,
-- if the index has tables of these. Chunks are only deleted with their whole document. Its
-- argument is the index. It locks rows in the order in which they are inserted and in which
-- others delete them, so that two writers whose documents share edges cannot deadlock.
CREATE FUNCTION delete_edges() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	documents uuid[] := ARRAY(SELECT DISTINCT d.document_id FROM deleted AS d WHERE d.document_id IS NOT NULL);
	-- A query of the catalog, unlike to_regclass, sees a table that another session has just made.
	tables text[] := ARRAY(
		SELECT t.relname::text FROM pg_catalog.pg_class AS t JOIN pg_catalog.pg_class AS c ON c.relnamespace = t.relnamespace
		WHERE c.oid = TG_RELID AND t.relname = ANY(ARRAY['edge_' || TG_ARGV[0], 'member_' || TG_ARGV[0]]::name[]));
BEGIN
	IF cardinality(documents) = 0 OR cardinality(tables) = 0 THEN
		RETURN NULL;
	END IF;
	IF 'member_' || TG_ARGV[0] = ANY(tables) THEN
		EXECUTE format('
			DELETE FROM %1$I.%2$I WHERE ctid = ANY(ARRAY(
				SELECT m.ctid FROM %1$I.%2$I AS m WHERE m.document_id = ANY($1) ORDER BY m.document_id, m.ordinal FOR UPDATE))',
			TG_TABLE_SCHEMA, 'member_' || TG_ARGV[0]) USING documents;
	END IF;
	IF 'edge_' || TG_ARGV[0] <> ALL(tables) THEN
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

-- record_changed_documents adds the documents whose chunks a statement changed to the
-- documents that the next generation of an index does not have yet. Its argument is the
-- index.
CREATE FUNCTION record_changed_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('
		INSERT INTO %I.%I AS r (document_id)
		SELECT DISTINCT c.document_id FROM changed AS c WHERE c.document_id IS NOT NULL ORDER BY 1
		ON CONFLICT (document_id) DO UPDATE SET change = r.change + 1', TG_TABLE_SCHEMA, 'reembed_' || TG_ARGV[0]);
	RETURN NULL;
END
$$;
