-- reembed_documents are the documents whose present chunks the next generation of an
-- index does not have yet.
CREATE TABLE reembed_documents (
	index_id    bigint NOT NULL REFERENCES indexes ON DELETE CASCADE,
	document_id uuid NOT NULL,
	change      bigint NOT NULL DEFAULT 0, -- grows with every change of the chunks
	PRIMARY KEY (index_id, document_id)
);

-- record_changed_documents adds the documents whose chunks a statement changed to
-- reembed_documents. Its argument is the index.
CREATE FUNCTION record_changed_documents() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
BEGIN
	INSERT INTO reembed_documents AS r (index_id, document_id)
	SELECT DISTINCT TG_ARGV[0]::bigint, c.document_id FROM changed AS c WHERE c.document_id IS NOT NULL ORDER BY 2
	ON CONFLICT (index_id, document_id) DO UPDATE SET change = r.change + 1;
	RETURN NULL;
END
$$;
