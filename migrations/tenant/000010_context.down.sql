ALTER TABLE index_counts DROP COLUMN context_tokens;
ALTER TABLE documents DROP COLUMN notice;
