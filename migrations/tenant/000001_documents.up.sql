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
	text_language    text NOT NULL,
	-- Whether the Postgres index over the embeddings is there, how far a search
	-- in it has to look, and the job that is making it.
	built            boolean NOT NULL DEFAULT false,
	search_width     int NOT NULL DEFAULT 0,
	build_job_id     uuid,
	-- The index's counts when its words were last counted.
	counted_chunks   bigint NOT NULL DEFAULT 0,
	counted_written  bigint NOT NULL DEFAULT 0,
	created_at       timestamptz NOT NULL DEFAULT now(),
	updated_at       timestamptz NOT NULL DEFAULT now()
);

-- What describing an index counts, kept by the trigger below and by writers of
-- ready-made vectors. The counts of one index are spread over a few rows, so that
-- writers do not queue for one row's lock; the sum is over at most 16.
CREATE TABLE index_counts (
	index_id bigint NOT NULL REFERENCES indexes ON DELETE CASCADE,
	slot     smallint NOT NULL,
	chunks   bigint NOT NULL,
	written  bigint NOT NULL, -- chunks ever written, which only grows
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
	INSERT INTO index_counts AS c (index_id, slot, chunks, written, ready, pending, failed)
	VALUES (
		coalesce(after.index_id, before.index_id),
		pg_backend_pid() % 16,
		coalesce(after.chunk_count, 0) - coalesce(before.chunk_count, 0),
		CASE WHEN after.status = 'ready' AND before.status IS DISTINCT FROM 'ready' THEN after.chunk_count ELSE 0 END,
		(after.status IS NOT DISTINCT FROM 'ready')::int - (before.status IS NOT DISTINCT FROM 'ready')::int,
		coalesce(after.status IN ('pending', 'processing'), false)::int - coalesce(before.status IN ('pending', 'processing'), false)::int,
		(after.status IS NOT DISTINCT FROM 'failed')::int - (before.status IS NOT DISTINCT FROM 'failed')::int
	)
	ON CONFLICT (index_id, slot) DO UPDATE SET
		chunks  = c.chunks + excluded.chunks,
		written = c.written + excluded.written,
		ready   = c.ready + excluded.ready,
		pending = c.pending + excluded.pending,
		failed  = c.failed + excluded.failed;
	RETURN NULL;
END
$$;

CREATE TRIGGER documents_counted AFTER INSERT OR DELETE OR UPDATE OF status, chunk_count ON documents
	FOR EACH ROW EXECUTE FUNCTION count_documents();

-- word_place is a word's dimension in chunks' word_weights. Of 2^29 places two
-- words of one text rarely share one, and then the heavier counts.
CREATE FUNCTION word_place(lexeme text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (hashtextextended(lexeme, 0) & 536870911) + 1;

-- weigh_words fills in what keyword search reads of a chunk: its words with their
-- positions, and the weight of each, the part of BM25 that depends on the chunk
-- alone:
--
--	count / (count + k1 * (1 - b + b * length / typical length))
--
-- with k1 = 0.9, b = 0.4 and a typical length of 50 words that are not stop
-- words. The mean length of the index's chunks would have weights change with
-- every chunk that is written; a constant loses nothing (internal/query measures).
CREATE FUNCTION weigh_words() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
DECLARE
	length float8;
BEGIN
	NEW.words := to_tsvector(TG_ARGV[0]::regconfig, NEW.title || ' ' || NEW.text);
	length := (SELECT sum(cardinality(w.positions)) FROM unnest(NEW.words) AS w);
	NEW.word_weights := (
		SELECT ('{' || string_agg(weighed.place || ':' || weighed.weight, ',') || '}/1000000000')::sparsevec
		FROM (
			SELECT word_place(w.lexeme) AS place,
				max(cardinality(w.positions) / (cardinality(w.positions) + 0.9 * (0.6 + 0.4 * length / 50)))::real AS weight
			FROM unnest(NEW.words) AS w GROUP BY 1
			LIMIT 16000 -- what a sparsevec holds
		) AS weighed);
	RETURN NEW;
END
$$;
