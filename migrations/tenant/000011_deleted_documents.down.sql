DROP TRIGGER erased ON documents;
DELETE FROM document_contents AS c WHERE NOT EXISTS (SELECT FROM documents AS d WHERE d.document_id = c.document_id);
ALTER TABLE document_contents ADD CONSTRAINT document_contents_document_id_fkey FOREIGN KEY (document_id) REFERENCES documents ON DELETE CASCADE;
