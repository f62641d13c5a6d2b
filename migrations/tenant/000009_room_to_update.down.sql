DROP INDEX jobs_of_document;
CREATE INDEX jobs_of_document ON jobs (document_id) WHERE status IN ('queued', 'running');
ALTER TABLE jobs RESET (fillfactor);
ALTER TABLE documents RESET (fillfactor);
