-- Another embedding model makes the chunks of an index anew, as another generation
-- in a table beside that of the present one, which serves until it is complete.
ALTER TABLE indexes ADD generation int NOT NULL DEFAULT 0;
-- The job that makes the next generation, and what that has, until it takes over.
ALTER TABLE indexes ADD reembed_job_id uuid;
ALTER TABLE indexes ADD next_model text;
ALTER TABLE indexes ADD next_dimension int;
ALTER TABLE indexes ADD next_vector_type text;

-- The documents whose chunks the next generation does not have as they are now.
CREATE TABLE reembed_documents (
	index_id    bigint NOT NULL REFERENCES indexes ON DELETE CASCADE,
	document_id uuid NOT NULL,
	change      bigint NOT NULL DEFAULT 0, -- grows with every change of the chunks
	PRIMARY KEY (index_id, document_id)
);

-- note_changed notes the documents whose chunks a statement changed. Its argument is
-- the index.
CREATE FUNCTION note_changed() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
BEGIN
	INSERT INTO reembed_documents AS r (index_id, document_id)
	SELECT DISTINCT TG_ARGV[0]::bigint, c.document_id FROM changed AS c WHERE c.document_id IS NOT NULL ORDER BY 2
	ON CONFLICT (index_id, document_id) DO UPDATE SET change = r.change + 1;
	RETURN NULL;
END
$$;
