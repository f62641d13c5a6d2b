ALTER TABLE indexes
	ADD COLUMN text_analysis int NOT NULL DEFAULT 0; -- version of the analyzer that made the terms of all chunks; 0: PostgreSQL's parser made those of some
ALTER TABLE index_counts
	ADD COLUMN languages text[] NOT NULL DEFAULT '{}'; -- of documents, if text_language is auto; those of the index are those of all slots
ALTER TABLE documents ADD COLUMN language text; -- of the words in Latin letters; null: the index has one language
