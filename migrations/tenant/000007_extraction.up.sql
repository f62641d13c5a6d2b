-- What is to be found out about a document's chunks, null for nothing, and what
-- that took.
ALTER TABLE documents ADD extract jsonb;
ALTER TABLE jobs ADD extraction jsonb;
