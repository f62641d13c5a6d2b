DROP FUNCTION erase_contents;
DROP TABLE deleted_documents;
