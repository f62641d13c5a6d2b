-- files are uploads of the OpenAI-compatible interface, which become documents when they are put
-- into a vector store, which is an index.
CREATE TABLE files (
	tenant_id  text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	file_id    text COLLATE "C",
	file_name  text NOT NULL,
	purpose    text NOT NULL,
	byte_size  bigint NOT NULL,
	created_at timestamptz NOT NULL DEFAULT now(),
	expires_at timestamptz, -- null: never
	PRIMARY KEY (tenant_id, file_id)
);
CREATE INDEX files_in_order ON files (tenant_id, created_at, file_id);

ALTER TABLE files ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON files USING (tenant_id = current_tenant());

-- file_contents has the bytes of files, in segments from 0.
CREATE TABLE file_contents (
	tenant_id text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	file_id   text COLLATE "C",
	segment   int,
	content   bytea NOT NULL,
	PRIMARY KEY (tenant_id, file_id, segment),
	FOREIGN KEY (tenant_id, file_id) REFERENCES files ON DELETE CASCADE
);
ALTER TABLE file_contents ALTER content SET STORAGE EXTERNAL;

ALTER TABLE file_contents ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON file_contents USING (tenant_id = current_tenant());

-- file_bytes returns the bytes of the files of the tenant, which count towards its quota of storage.
CREATE FUNCTION file_bytes() RETURNS bigint LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT coalesce(sum(byte_size), 0)::bigint FROM files;
END;

-- vector_stores has what the OpenAI-compatible interface keeps of an index.
CREATE TABLE vector_stores (
	tenant_id  text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	index_name text COLLATE "C",
	store_name text NOT NULL,
	metadata   jsonb NOT NULL,
	PRIMARY KEY (tenant_id, index_name)
);

ALTER TABLE vector_stores ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON vector_stores USING (tenant_id = current_tenant());

-- vector_store_files has what it keeps of a document that was made from a file: the document's uri
-- begins with the id of the file. The document may be gone.
CREATE TABLE vector_store_files (
	tenant_id  text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	file_id    text COLLATE "C",
	index_name text COLLATE "C",
	file_name  text NOT NULL,
	chunking   jsonb NOT NULL, -- openai.chunkingStrategy
	refused    jsonb, -- openai.refusal: why there is no document; null if there is one
	created_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, file_id, index_name)
);
CREATE INDEX vector_store_files_of_index ON vector_store_files (tenant_id, index_name);
CREATE INDEX vector_store_files_refused ON vector_store_files (tenant_id, index_name, created_at, file_id) WHERE refused IS NOT NULL;

ALTER TABLE vector_store_files ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON vector_store_files USING (tenant_id = current_tenant());

CREATE TABLE file_batches (
	tenant_id  text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	batch_id   text COLLATE "C",
	index_name text COLLATE "C" NOT NULL,
	file_ids   text[] NOT NULL,
	errors     jsonb NOT NULL, -- by the id of the file that could not be stored
	cancelled  boolean NOT NULL DEFAULT false,
	created_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, batch_id)
);
CREATE INDEX file_batches_of_index ON file_batches (tenant_id, index_name);
CREATE INDEX file_batches_in_order ON file_batches (tenant_id, created_at, batch_id);

ALTER TABLE file_batches ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON file_batches USING (tenant_id = current_tenant());

-- index_renewed deletes what is kept of an index that was deleted, and what calls may have left under the
-- name of a new one that were under way when another index of this name was deleted.
CREATE FUNCTION index_renewed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	name text := CASE TG_OP WHEN 'DELETE' THEN OLD.index_name ELSE NEW.index_name END;
BEGIN
	DELETE FROM ragd_shared.vector_stores AS s WHERE s.index_name = name;
	DELETE FROM ragd_shared.vector_store_files AS f WHERE f.index_name = name;
	DELETE FROM ragd_shared.file_batches AS b WHERE b.index_name = name;
	RETURN NULL;
END
$$;
