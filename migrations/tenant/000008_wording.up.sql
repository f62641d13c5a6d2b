ALTER TABLE indexes
	ADD COLUMN synonyms jsonb, -- of words of questions, as wording.Synonym; null: none
	ADD COLUMN curations jsonb; -- what questions find first or never, as wording.Curation; null: nothing

-- Suggestions look titles up by their beginning.
CREATE INDEX documents_by_title ON documents (index_id, namespace, (left(lower(title), 100) COLLATE "C"));
