CREATE TABLE indexes (
	index_id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	index_name       text COLLATE "C" NOT NULL UNIQUE,
	dimension        int NOT NULL,
	metric           text NOT NULL,
	vector_type      text NOT NULL,
	index_config     jsonb NOT NULL,
	metadata_indexes text[] NOT NULL,
	embedding_model  text NOT NULL,
	chunking         jsonb NOT NULL,
	extract          jsonb, -- null: nothing is extracted
	text_language    text NOT NULL,
	generation       int NOT NULL DEFAULT 0, -- of the chunk table; grows with every change of the embedding model

	-- The Postgres index over the embeddings.
	built            boolean NOT NULL DEFAULT false,
	search_width     int NOT NULL DEFAULT 0, -- 0: not measured
	width_recall     real NOT NULL DEFAULT 0, -- measured with this width
	width_questions  int NOT NULL DEFAULT 0, -- with which it was measured
	own_questions    boolean NOT NULL DEFAULT false, -- they were recorded, not made from chunks
	measured_at      timestamptz,
	record_questions boolean NOT NULL DEFAULT true,
	build_job_id     uuid,                   -- the job that builds it

	-- index_counts at the last count of common terms.
	counted_chunks   bigint NOT NULL DEFAULT 0,
	counted_written  bigint NOT NULL DEFAULT 0,

	scale            jsonb NOT NULL DEFAULT '{}', -- of the scores; {}: not measured

	-- The graph of chunks: its settings, the job that rebuilds it, and its connected
	-- components as that job counted them.
	graph                 jsonb NOT NULL DEFAULT '{}',
	graph_job_id          uuid,
	graph_components      bigint NOT NULL DEFAULT 0,
	graph_counted_at      timestamptz,
	similar_edges_missing boolean NOT NULL DEFAULT false, -- chunks were stored that nothing could compare yet

	-- The topics: what the index was like when they were found, null before the first time,
	-- and the job that finds them.
	topics                jsonb,
	topics_job_id         uuid,

	-- A change of the embedding model: its job, and what the next generation will have.
	reembed_job_id   uuid,
	next_model       text,
	next_dimension   int,
	next_vector_type text,

	created_at       timestamptz NOT NULL DEFAULT now(),
	updated_at       timestamptz NOT NULL DEFAULT now()
);

-- index_counts counts the contents of an index. The counts of one index are spread over
-- up to 16 rows, so that writers do not wait for the lock of a single row: readers add
-- them up.
CREATE TABLE index_counts (
	index_id      bigint NOT NULL REFERENCES indexes ON DELETE CASCADE,
	slot          smallint NOT NULL,
	chunks        bigint NOT NULL DEFAULT 0,
	written       bigint NOT NULL DEFAULT 0, -- chunks ever written; never falls
	ready         bigint NOT NULL DEFAULT 0, -- documents
	pending       bigint NOT NULL DEFAULT 0, -- documents, also those in processing
	failed        bigint NOT NULL DEFAULT 0, -- documents
	documents     bigint NOT NULL DEFAULT 0, -- of any status
	bytes         bigint NOT NULL DEFAULT 0, -- that were uploaded of them
	graph_version bigint NOT NULL DEFAULT 0, -- grows with every change of the edges; above 0 the index has an edge table
	names         bigint NOT NULL DEFAULT 0, -- edges, as are the following
	mentions      bigint NOT NULL DEFAULT 0,
	similarities  bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (index_id, slot)
) WITH (fillfactor = 50);

-- A document and its job are updated three times before they rest: a low fillfactor and
-- no index on what changes keep these updates within the page.
CREATE TABLE documents (
	document_id  uuid PRIMARY KEY,
	index_id     bigint NOT NULL REFERENCES indexes ON DELETE CASCADE,
	namespace    text COLLATE "C" NOT NULL DEFAULT 'default',
	uri          text COLLATE "C" NOT NULL,
	title        text NOT NULL,
	content_type text NOT NULL,
	metadata     jsonb NOT NULL,
	chunking     jsonb NOT NULL,
	extract      jsonb, -- settings of the extraction; null: none
	content_hash text NOT NULL,
	content_sha256 bytea NOT NULL, -- of the uploaded bytes
	fingerprint  text COLLATE "C" NOT NULL DEFAULT '', -- of the content, as the uploader computes it
	version      int NOT NULL,
	status       text NOT NULL CHECK (status IN ('pending', 'processing', 'ready', 'failed', 'needs_ocr', 'deleting')),
	error        text NOT NULL DEFAULT '',
	chunk_count  int NOT NULL DEFAULT 0,
	byte_size    bigint NOT NULL,
	text_bytes   bigint, -- of the text that was read from the content; null until then
	text_type    text NOT NULL DEFAULT '', -- its content type
	text_stored  boolean NOT NULL DEFAULT false, -- apart from the content, from which it differs
	job_id       uuid NOT NULL,
	created_at   timestamptz NOT NULL DEFAULT now(),
	updated_at   timestamptz NOT NULL DEFAULT now(),
	UNIQUE (index_id, namespace, uri)
) WITH (fillfactor = 50);

CREATE INDEX documents_in_order ON documents (index_id, created_at, document_id);

-- document_contents has the uploaded bytes, in segments from 0, apart from the rows that
-- lists read. The text that was read from them, where it differs, is in segments from -1
-- downwards: that of the searchable version, while the bytes may be those of a later one.
CREATE TABLE document_contents (
	document_id uuid NOT NULL REFERENCES documents ON DELETE CASCADE,
	segment     int NOT NULL DEFAULT 0,
	content     bytea NOT NULL,
	PRIMARY KEY (document_id, segment)
);
ALTER TABLE document_contents ALTER content SET STORAGE EXTERNAL;

CREATE TABLE jobs (
	job_id      uuid PRIMARY KEY,
	kind        text NOT NULL,
	status      text NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
	index_name  text NOT NULL,
	document_id uuid,
	access      text NOT NULL DEFAULT '{}', -- of a job without a document: the mandatory filter of the credential that started it
	done        int NOT NULL DEFAULT 0,
	total       int NOT NULL DEFAULT 0,
	unit        text NOT NULL DEFAULT '', -- of done and total
	attempts    int NOT NULL DEFAULT 0,
	error       text NOT NULL DEFAULT '',
	extraction  jsonb, -- what an extraction took
	created_at  timestamptz NOT NULL DEFAULT now(),
	updated_at  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE INDEX jobs_newest ON jobs (created_at DESC, job_id DESC);
CREATE INDEX jobs_of_document ON jobs (document_id);

-- Functions of all tenants are in migrations/shared.
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON indexes
	FOR EACH ROW EXECUTE FUNCTION ragd_shared.index_changed();
CREATE TRIGGER inserted AFTER INSERT ON documents REFERENCING NEW TABLE AS after
	FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.documents_inserted();
CREATE TRIGGER updated AFTER UPDATE ON documents REFERENCING OLD TABLE AS before NEW TABLE AS after
	FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.documents_updated();
CREATE TRIGGER deleted AFTER DELETE ON documents REFERENCING OLD TABLE AS before
	FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.documents_deleted();
-- The following write events. Their conditions keep server processes from loading the functions
-- where nobody wants any: a copy of each, for each table, takes 30 kB.
CREATE TRIGGER recorded AFTER DELETE ON documents REFERENCING OLD TABLE AS before
	FOR EACH STATEMENT WHEN (ragd_shared.event_wanted('document')) EXECUTE FUNCTION ragd_shared.deleted_recorded();
CREATE TRIGGER inserted AFTER INSERT ON jobs REFERENCING NEW TABLE AS after
	FOR EACH STATEMENT WHEN (ragd_shared.event_wanted('job')) EXECUTE FUNCTION ragd_shared.jobs_inserted();
CREATE TRIGGER updated AFTER UPDATE ON jobs REFERENCING OLD TABLE AS before NEW TABLE AS after
	FOR EACH STATEMENT WHEN (ragd_shared.event_wanted('job')) EXECUTE FUNCTION ragd_shared.jobs_updated();
