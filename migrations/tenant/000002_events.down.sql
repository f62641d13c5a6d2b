DROP TRIGGER document_deletes_announced ON documents;
DROP TRIGGER documents_announced ON documents;
DROP FUNCTION announce_document();
DROP TRIGGER indexes_announced ON indexes;
DROP FUNCTION announce_index();
