ALTER TABLE indexes
	ADD COLUMN synonyms jsonb, -- of words of questions, as wording.Synonym; null: none
	ADD COLUMN curations jsonb; -- what questions find first or never, as wording.Curation; null: nothing
