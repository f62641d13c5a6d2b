DROP FUNCTION record_changed_documents();
DROP TABLE reembed_documents;
