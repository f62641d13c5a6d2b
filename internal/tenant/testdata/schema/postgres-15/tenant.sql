CREATE SCHEMA tenant;

CREATE TYPE tenant.edge_type AS ENUM (
    'name',
    'mention',
    'similar',
    'prefix',
    'section'
);

CREATE FUNCTION tenant.add_index_counts(index_id bigint, chunks bigint, written bigint, ready bigint, pending bigint, failed bigint) RETURNS void
    LANGUAGE sql
    SET search_path TO 'tenant', 'extensions'
    AS $_$
	INSERT INTO index_counts AS c (index_id, slot, chunks, written, ready, pending, failed)
	SELECT i.index_id, pg_backend_pid() % 16, $2, $3, $4, $5, $6
	FROM indexes AS i WHERE i.index_id = $1 AND ($2, $3, $4, $5, $6) <> (0, 0, 0, 0, 0)
	ON CONFLICT (index_id, slot) DO UPDATE SET
		chunks  = c.chunks + excluded.chunks,
		written = c.written + excluded.written,
		ready   = c.ready + excluded.ready,
		pending = c.pending + excluded.pending,
		failed  = c.failed + excluded.failed;
$_$;

CREATE FUNCTION tenant.announce_documents() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'tenant', 'extensions'
    AS $$
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

CREATE FUNCTION tenant.announce_index() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION tenant.announce_tool() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM pg_notify('ragd_event', json_build_object('schema', TG_TABLE_SCHEMA, 'tool', coalesce(NEW.tool_name, OLD.tool_name))::text);
	RETURN NULL;
END
$$;

CREATE FUNCTION tenant.count_documents() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'tenant', 'extensions'
    AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		PERFORM add_index_counts(changed.index_id, changed.chunks, changed.written, changed.ready, changed.pending, changed.failed) FROM (
			SELECT a.index_id, sum(a.chunk_count - b.chunk_count) AS chunks,
				coalesce(sum(a.chunk_count) FILTER (WHERE a.status = 'ready' AND b.status <> 'ready'), 0) AS written,
				sum((a.status = 'ready')::int - (b.status = 'ready')::int) AS ready,
				sum((a.status IN ('pending', 'processing'))::int - (b.status IN ('pending', 'processing'))::int) AS pending,
				sum((a.status = 'failed')::int - (b.status = 'failed')::int) AS failed
			FROM after AS a JOIN before AS b USING (document_id)
			WHERE (a.status, a.chunk_count) <> (b.status, b.chunk_count)
			GROUP BY a.index_id ORDER BY a.index_id) AS changed;
	ELSIF TG_OP = 'INSERT' THEN
		PERFORM add_index_counts(changed.index_id, 0, 0, 0, changed.documents, 0)
		FROM (SELECT a.index_id, count(*) AS documents FROM after AS a GROUP BY a.index_id ORDER BY a.index_id) AS changed;
	ELSE
		PERFORM add_index_counts(changed.index_id, changed.chunks, 0, changed.ready, changed.pending, changed.failed) FROM (
			SELECT b.index_id, -sum(b.chunk_count) AS chunks, -count(*) FILTER (WHERE b.status = 'ready') AS ready,
				-count(*) FILTER (WHERE b.status IN ('pending', 'processing')) AS pending,
				-count(*) FILTER (WHERE b.status = 'failed') AS failed
			FROM before AS b GROUP BY b.index_id ORDER BY b.index_id) AS changed;
	END IF;
	RETURN NULL;
END
$$;

CREATE FUNCTION tenant.count_edges() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'tenant', 'extensions'
    AS $$
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

CREATE FUNCTION tenant.create_edge_table(index_id bigint, chunk_table regclass) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION tenant.delete_edges() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
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
$_$;

CREATE FUNCTION tenant.record_changed_documents() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'tenant', 'extensions'
    AS $$
BEGIN
	INSERT INTO reembed_documents AS r (index_id, document_id)
	SELECT DISTINCT TG_ARGV[0]::bigint, c.document_id FROM changed AS c WHERE c.document_id IS NOT NULL ORDER BY 2
	ON CONFLICT (index_id, document_id) DO UPDATE SET change = r.change + 1;
	RETURN NULL;
END
$$;

CREATE FUNCTION tenant.term_dimension(term text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((hashtextextended(term, (0)::bigint) & (536870911)::bigint) + 1);

CREATE FUNCTION tenant.weigh_terms() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'tenant', 'extensions'
    AS $$
DECLARE
	k1             CONSTANT float8 := 0.9;
	b              CONSTANT float8 := 0.4;
	typical_length CONSTANT float8 := 50;
	max_terms      CONSTANT int := 16000; -- the capacity of a sparsevec
	length         float8;
BEGIN
	IF NEW.terms IS NOT NULL THEN
		RETURN NEW;
	END IF;
	NEW.terms := to_tsvector(TG_ARGV[0]::regconfig, NEW.text);
	length := (SELECT sum(cardinality(t.positions)) FROM unnest(NEW.terms) AS t);
	NEW.term_weights := (
		SELECT ('{' || string_agg(w.dimension || ':' || w.weight, ',') || '}/1000000000')::sparsevec
		FROM (
			SELECT term_dimension(t.lexeme) AS dimension,
				max(cardinality(t.positions) / (cardinality(t.positions) + k1 * (1 - b + b * length / typical_length)))::real AS weight
			FROM unnest(NEW.terms) AS t GROUP BY 1
			LIMIT max_terms
		) AS w);
	RETURN NEW;
END
$$;

CREATE TABLE tenant.document_contents (
    document_id uuid NOT NULL,
    segment integer DEFAULT 0 NOT NULL,
    content bytea NOT NULL
);
ALTER TABLE ONLY tenant.document_contents ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE tenant.documents (
    document_id uuid NOT NULL,
    index_id bigint NOT NULL,
    namespace text DEFAULT 'default'::text NOT NULL COLLATE pg_catalog."C",
    uri text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL,
    content_type text NOT NULL,
    metadata jsonb NOT NULL,
    chunking jsonb NOT NULL,
    "extract" jsonb,
    content_hash text NOT NULL,
    fingerprint text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    status text NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    chunk_count integer DEFAULT 0 NOT NULL,
    byte_size bigint NOT NULL,
    job_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT documents_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'ready'::text, 'failed'::text, 'deleting'::text])))
)
WITH (fillfactor='50');

CREATE TABLE tenant.graph_counts (
    index_id bigint NOT NULL,
    slot smallint NOT NULL,
    version bigint NOT NULL,
    names bigint NOT NULL,
    mentions bigint NOT NULL,
    similarities bigint NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE tenant.index_counts (
    index_id bigint NOT NULL,
    slot smallint NOT NULL,
    chunks bigint NOT NULL,
    written bigint NOT NULL,
    ready bigint NOT NULL,
    pending bigint NOT NULL,
    failed bigint NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE tenant.indexes (
    index_id bigint NOT NULL,
    index_name text NOT NULL COLLATE pg_catalog."C",
    dimension integer NOT NULL,
    metric text NOT NULL,
    vector_type text NOT NULL,
    index_config jsonb NOT NULL,
    metadata_indexes text[] NOT NULL,
    embedding_model text NOT NULL,
    chunking jsonb NOT NULL,
    text_language text NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    built boolean DEFAULT false NOT NULL,
    search_width integer DEFAULT 0 NOT NULL,
    build_job_id uuid,
    counted_chunks bigint DEFAULT 0 NOT NULL,
    counted_written bigint DEFAULT 0 NOT NULL,
    graph jsonb DEFAULT '{}'::jsonb NOT NULL,
    graph_job_id uuid,
    graph_components bigint DEFAULT 0 NOT NULL,
    graph_counted_at timestamp with time zone,
    similar_edges_missing boolean DEFAULT false NOT NULL,
    reembed_job_id uuid,
    next_model text,
    next_dimension integer,
    next_vector_type text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE tenant.indexes ALTER COLUMN index_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tenant.indexes_index_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tenant.jobs (
    job_id uuid NOT NULL,
    kind text NOT NULL,
    status text NOT NULL,
    index_name text NOT NULL,
    document_id uuid,
    done integer DEFAULT 0 NOT NULL,
    total integer DEFAULT 0 NOT NULL,
    unit text DEFAULT ''::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    extraction jsonb,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text])))
)
WITH (fillfactor='50');

CREATE TABLE tenant.reembed_documents (
    index_id bigint NOT NULL,
    document_id uuid NOT NULL,
    change bigint DEFAULT 0 NOT NULL
);

CREATE TABLE tenant.schema_migrations (
    version bigint NOT NULL,
    dirty boolean NOT NULL
);

CREATE TABLE tenant.tools (
    tool_name text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    title text NOT NULL,
    description text NOT NULL,
    settings jsonb NOT NULL,
    arguments text[] NOT NULL,
    fixed boolean NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY tenant.document_contents
    ADD CONSTRAINT document_contents_pkey PRIMARY KEY (document_id, segment);

ALTER TABLE ONLY tenant.documents
    ADD CONSTRAINT documents_index_id_namespace_uri_key UNIQUE (index_id, namespace, uri);

ALTER TABLE ONLY tenant.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (document_id);

ALTER TABLE ONLY tenant.graph_counts
    ADD CONSTRAINT graph_counts_pkey PRIMARY KEY (index_id, slot);

ALTER TABLE ONLY tenant.index_counts
    ADD CONSTRAINT index_counts_pkey PRIMARY KEY (index_id, slot);

ALTER TABLE ONLY tenant.indexes
    ADD CONSTRAINT indexes_index_name_key UNIQUE (index_name);

ALTER TABLE ONLY tenant.indexes
    ADD CONSTRAINT indexes_pkey PRIMARY KEY (index_id);

ALTER TABLE ONLY tenant.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY tenant.reembed_documents
    ADD CONSTRAINT reembed_documents_pkey PRIMARY KEY (index_id, document_id);

ALTER TABLE ONLY tenant.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY tenant.tools
    ADD CONSTRAINT tools_pkey PRIMARY KEY (tool_name);

CREATE INDEX documents_in_order ON tenant.documents USING btree (index_id, created_at, document_id);

CREATE INDEX jobs_newest ON tenant.jobs USING btree (created_at DESC, job_id DESC);

CREATE INDEX jobs_of_document ON tenant.jobs USING btree (document_id);

CREATE TRIGGER announce_deleted_documents AFTER DELETE ON tenant.documents REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION tenant.announce_documents();

CREATE TRIGGER announce_index AFTER INSERT OR DELETE OR UPDATE ON tenant.indexes FOR EACH ROW EXECUTE FUNCTION tenant.announce_index();

CREATE TRIGGER announce_tool AFTER INSERT OR DELETE OR UPDATE ON tenant.tools FOR EACH ROW EXECUTE FUNCTION tenant.announce_tool();

CREATE TRIGGER announce_updated_documents AFTER UPDATE ON tenant.documents REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION tenant.announce_documents();

CREATE TRIGGER count_deleted_documents AFTER DELETE ON tenant.documents REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION tenant.count_documents();

CREATE TRIGGER count_inserted_documents AFTER INSERT ON tenant.documents REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION tenant.count_documents();

CREATE TRIGGER count_updated_documents AFTER UPDATE ON tenant.documents REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION tenant.count_documents();

ALTER TABLE ONLY tenant.document_contents
    ADD CONSTRAINT document_contents_document_id_fkey FOREIGN KEY (document_id) REFERENCES tenant.documents(document_id) ON DELETE CASCADE;

ALTER TABLE ONLY tenant.documents
    ADD CONSTRAINT documents_index_id_fkey FOREIGN KEY (index_id) REFERENCES tenant.indexes(index_id) ON DELETE CASCADE;

ALTER TABLE ONLY tenant.graph_counts
    ADD CONSTRAINT graph_counts_index_id_fkey FOREIGN KEY (index_id) REFERENCES tenant.indexes(index_id) ON DELETE CASCADE;

ALTER TABLE ONLY tenant.index_counts
    ADD CONSTRAINT index_counts_index_id_fkey FOREIGN KEY (index_id) REFERENCES tenant.indexes(index_id) ON DELETE CASCADE;

ALTER TABLE ONLY tenant.reembed_documents
    ADD CONSTRAINT reembed_documents_index_id_fkey FOREIGN KEY (index_id) REFERENCES tenant.indexes(index_id) ON DELETE CASCADE;
