CREATE SCHEMA tenant;

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
    content_sha256 bytea NOT NULL,
    fingerprint text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    status text NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    chunk_count integer DEFAULT 0 NOT NULL,
    byte_size bigint NOT NULL,
    text_bytes bigint,
    text_type text DEFAULT ''::text NOT NULL,
    text_stored boolean DEFAULT false NOT NULL,
    job_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    language text,
    notice text DEFAULT ''::text NOT NULL,
    CONSTRAINT documents_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'ready'::text, 'failed'::text, 'needs_ocr'::text, 'deleting'::text])))
)
WITH (fillfactor='50');

CREATE TABLE tenant.index_counts (
    index_id bigint NOT NULL,
    slot smallint NOT NULL,
    chunks bigint DEFAULT 0 NOT NULL,
    written bigint DEFAULT 0 NOT NULL,
    ready bigint DEFAULT 0 NOT NULL,
    pending bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    documents bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    graph_version bigint DEFAULT 0 NOT NULL,
    names bigint DEFAULT 0 NOT NULL,
    mentions bigint DEFAULT 0 NOT NULL,
    similarities bigint DEFAULT 0 NOT NULL,
    languages text[] DEFAULT '{}'::text[] NOT NULL,
    context_tokens bigint DEFAULT 0 NOT NULL
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
    "extract" jsonb,
    text_language text NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    built boolean DEFAULT false NOT NULL,
    search_width integer DEFAULT 0 NOT NULL,
    width_recall real DEFAULT 0 NOT NULL,
    width_questions integer DEFAULT 0 NOT NULL,
    own_questions boolean DEFAULT false NOT NULL,
    measured_at timestamp with time zone,
    record_questions boolean DEFAULT true NOT NULL,
    build_job_id uuid,
    counted_chunks bigint DEFAULT 0 NOT NULL,
    counted_written bigint DEFAULT 0 NOT NULL,
    scale jsonb DEFAULT '{}'::jsonb NOT NULL,
    graph jsonb DEFAULT '{}'::jsonb NOT NULL,
    graph_job_id uuid,
    graph_components bigint DEFAULT 0 NOT NULL,
    graph_counted_at timestamp with time zone,
    similar_edges_missing boolean DEFAULT false NOT NULL,
    topics jsonb,
    topics_job_id uuid,
    reembed_job_id uuid,
    next_model text,
    next_dimension integer,
    next_vector_type text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    text_analysis integer DEFAULT 0 NOT NULL,
    metadata_schema jsonb,
    recall_target double precision DEFAULT 0.95 NOT NULL,
    recall_curve jsonb,
    embedded_form integer DEFAULT 0 NOT NULL,
    tuning jsonb,
    synonyms jsonb,
    curations jsonb,
    ranking_profiles jsonb
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
    access text DEFAULT '{}'::text NOT NULL,
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

CREATE TABLE tenant.schema_migrations (
    version bigint NOT NULL,
    dirty boolean NOT NULL
);

ALTER TABLE ONLY tenant.document_contents
    ADD CONSTRAINT document_contents_pkey PRIMARY KEY (document_id, segment);

ALTER TABLE ONLY tenant.documents
    ADD CONSTRAINT documents_index_id_namespace_uri_key UNIQUE (index_id, namespace, uri);

ALTER TABLE ONLY tenant.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (document_id);

ALTER TABLE ONLY tenant.index_counts
    ADD CONSTRAINT index_counts_pkey PRIMARY KEY (index_id, slot);

ALTER TABLE ONLY tenant.indexes
    ADD CONSTRAINT indexes_index_name_key UNIQUE (index_name);

ALTER TABLE ONLY tenant.indexes
    ADD CONSTRAINT indexes_pkey PRIMARY KEY (index_id);

ALTER TABLE ONLY tenant.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (job_id);

CREATE INDEX documents_by_title ON tenant.documents USING btree (index_id, namespace, "left"(lower(title), 100) COLLATE "C");

CREATE INDEX documents_in_order ON tenant.documents USING btree (index_id, created_at, document_id);

CREATE INDEX jobs_newest ON tenant.jobs USING btree (created_at DESC, job_id DESC);

CREATE INDEX jobs_of_document ON tenant.jobs USING btree (document_id);

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON tenant.indexes FOR EACH ROW EXECUTE FUNCTION ragd_shared.index_changed();

CREATE TRIGGER deleted AFTER DELETE ON tenant.documents REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.documents_deleted();

CREATE TRIGGER erased AFTER DELETE ON tenant.documents REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.erase_contents();

CREATE TRIGGER inserted AFTER INSERT ON tenant.documents REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.documents_inserted();

CREATE TRIGGER inserted AFTER INSERT ON tenant.jobs REFERENCING NEW TABLE AS after FOR EACH STATEMENT WHEN (ragd_shared.event_wanted('job'::text)) EXECUTE FUNCTION ragd_shared.jobs_inserted();

CREATE TRIGGER recorded AFTER DELETE ON tenant.documents REFERENCING OLD TABLE AS before FOR EACH STATEMENT WHEN (ragd_shared.event_wanted('document'::text)) EXECUTE FUNCTION ragd_shared.deleted_recorded();

CREATE TRIGGER renewed AFTER INSERT OR DELETE ON tenant.indexes FOR EACH ROW EXECUTE FUNCTION ragd_shared.index_renewed();

CREATE TRIGGER updated AFTER UPDATE ON tenant.documents REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.documents_updated();

CREATE TRIGGER updated AFTER UPDATE ON tenant.jobs REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT WHEN (ragd_shared.event_wanted('job'::text)) EXECUTE FUNCTION ragd_shared.jobs_updated();

ALTER TABLE ONLY tenant.documents
    ADD CONSTRAINT documents_index_id_fkey FOREIGN KEY (index_id) REFERENCES tenant.indexes(index_id) ON DELETE CASCADE;

ALTER TABLE ONLY tenant.index_counts
    ADD CONSTRAINT index_counts_index_id_fkey FOREIGN KEY (index_id) REFERENCES tenant.indexes(index_id) ON DELETE CASCADE;
