-- A document and its job are written three times before they rest. Where the new
-- form of a row fits beside the old and no index is about what changed, the indexes
-- stay as they are.
ALTER TABLE documents SET (fillfactor = 50);
ALTER TABLE jobs SET (fillfactor = 50);
DROP INDEX jobs_of_document;
CREATE INDEX jobs_of_document ON jobs (document_id);
