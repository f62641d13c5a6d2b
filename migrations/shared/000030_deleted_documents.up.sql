-- deleted_documents are documents that were deleted and can be restored for a while. Their chunks are in the tables kept of their
-- indexes; their contents and cells stay where they are, as nothing reads them without a row of documents.
CREATE TABLE deleted_documents (
	tenant_id     text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	document_id   uuid,
	index_id      bigint NOT NULL,
	generation    int NOT NULL, -- of the chunk table that had its chunks
	text_analysis int NOT NULL, -- version of the analyzer that made the terms of its chunks
	document      jsonb NOT NULL, -- the row of documents
	deleted_by    text NOT NULL, -- subject of the credential; empty for the service
	deleted_at    timestamptz NOT NULL DEFAULT now(),
	superseded    boolean NOT NULL DEFAULT false, -- another document of its name was restored since: it is restored by its id alone
	PRIMARY KEY (tenant_id, document_id)
);
CREATE INDEX deleted_documents_newest ON deleted_documents (tenant_id, index_id, deleted_at, document_id);

ALTER TABLE deleted_documents ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON deleted_documents USING (tenant_id = current_tenant());
CREATE TRIGGER refuse_stopped BEFORE INSERT OR UPDATE OR DELETE ON deleted_documents FOR EACH STATEMENT EXECUTE FUNCTION refuse_stopped();

-- erase_contents deletes the contents of documents that were deleted, unless the transaction keeps them: it then has set ragd.keeps.
CREATE FUNCTION erase_contents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF coalesce(current_setting('ragd.keeps', true), '') <> 'on' THEN
		EXECUTE format('DELETE FROM %I.document_contents WHERE document_id = ANY($1)', TG_TABLE_SCHEMA) USING ARRAY(SELECT b.document_id FROM before AS b);
	END IF;
	RETURN NULL;
END
$$;
