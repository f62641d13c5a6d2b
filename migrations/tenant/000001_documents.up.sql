CREATE TABLE indexes (
	index_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	index_name      text COLLATE "C" NOT NULL UNIQUE,
	dimension       int NOT NULL,
	metric          text NOT NULL,
	index_config    jsonb NOT NULL,
	embedding_model text NOT NULL,
	chunking        jsonb NOT NULL,
	text_language   text NOT NULL,
	created_at      timestamptz NOT NULL DEFAULT now(),
	updated_at      timestamptz NOT NULL DEFAULT now()
);

-- What describing an index counts, kept by the trigger below. The counts of one
-- index are spread over a few rows, so that writers do not queue for one row's
-- lock; the sum is over at most 16.
CREATE TABLE index_counts (
	index_id bigint NOT NULL REFERENCES indexes ON DELETE CASCADE,
	slot     smallint NOT NULL,
	chunks   bigint NOT NULL,
	ready    bigint NOT NULL,
	pending  bigint NOT NULL,
	failed   bigint NOT NULL,
	PRIMARY KEY (index_id, slot)
) WITH (fillfactor = 50);

CREATE TABLE documents (
	document_id  uuid PRIMARY KEY,
	index_id     bigint NOT NULL REFERENCES indexes ON DELETE CASCADE,
	uri          text COLLATE "C" NOT NULL,
	title        text NOT NULL,
	content_type text NOT NULL,
	metadata     jsonb NOT NULL,
	chunking     jsonb NOT NULL,
	content_hash text NOT NULL,
	version      int NOT NULL,
	status       text NOT NULL CHECK (status IN ('pending', 'processing', 'ready', 'failed', 'deleting')),
	error        text NOT NULL DEFAULT '',
	chunk_count  int NOT NULL DEFAULT 0,
	byte_size    bigint NOT NULL,
	job_id       uuid NOT NULL,
	created_at   timestamptz NOT NULL DEFAULT now(),
	updated_at   timestamptz NOT NULL DEFAULT now(),
	UNIQUE (index_id, uri)
);

CREATE INDEX documents_in_order ON documents (index_id, created_at, document_id);

-- The bytes as they were uploaded, apart from the rows that lists read.
CREATE TABLE document_contents (
	document_id uuid PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
	content     bytea NOT NULL
);
ALTER TABLE document_contents ALTER content SET STORAGE EXTERNAL;

CREATE TABLE jobs (
	job_id      uuid PRIMARY KEY,
	kind        text NOT NULL,
	status      text NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
	index_name  text NOT NULL,
	document_id uuid,
	done        int NOT NULL DEFAULT 0,
	total       int NOT NULL DEFAULT 0,
	unit        text NOT NULL DEFAULT '',
	attempts    int NOT NULL DEFAULT 0,
	error       text NOT NULL DEFAULT '',
	created_at  timestamptz NOT NULL DEFAULT now(),
	updated_at  timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX jobs_newest ON jobs (created_at DESC, job_id DESC);
CREATE INDEX jobs_of_document ON jobs (document_id) WHERE status IN ('queued', 'running');

-- count_documents adds what changed in documents to index_counts.
CREATE FUNCTION count_documents() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
DECLARE
	before documents;
	after  documents;
BEGIN
	IF TG_OP <> 'INSERT' THEN before := OLD; END IF;
	IF TG_OP <> 'DELETE' THEN after := NEW; END IF;
	IF TG_OP = 'UPDATE' AND (before.status, before.chunk_count) = (after.status, after.chunk_count) THEN
		RETURN NULL;
	END IF;
	-- Deleting an index deletes its documents: there is nothing left to count.
	IF NOT EXISTS (SELECT FROM indexes WHERE index_id = coalesce(after.index_id, before.index_id)) THEN
		RETURN NULL;
	END IF;
	INSERT INTO index_counts AS c (index_id, slot, chunks, ready, pending, failed)
	VALUES (
		coalesce(after.index_id, before.index_id),
		pg_backend_pid() % 16,
		coalesce(after.chunk_count, 0) - coalesce(before.chunk_count, 0),
		(after.status IS NOT DISTINCT FROM 'ready')::int - (before.status IS NOT DISTINCT FROM 'ready')::int,
		coalesce(after.status IN ('pending', 'processing'), false)::int - coalesce(before.status IN ('pending', 'processing'), false)::int,
		(after.status IS NOT DISTINCT FROM 'failed')::int - (before.status IS NOT DISTINCT FROM 'failed')::int
	)
	ON CONFLICT (index_id, slot) DO UPDATE SET
		chunks  = c.chunks + excluded.chunks,
		ready   = c.ready + excluded.ready,
		pending = c.pending + excluded.pending,
		failed  = c.failed + excluded.failed;
	RETURN NULL;
END
$$;

CREATE TRIGGER documents_counted AFTER INSERT OR DELETE OR UPDATE OF status, chunk_count ON documents
	FOR EACH ROW EXECUTE FUNCTION count_documents();
