-- The contents of a deleted document stay while it can be restored.
ALTER TABLE document_contents DROP CONSTRAINT document_contents_document_id_fkey;
CREATE TRIGGER erased AFTER DELETE ON documents REFERENCING OLD TABLE AS before
	FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.erase_contents();
