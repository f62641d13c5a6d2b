ALTER TABLE indexes
	DROP COLUMN curations,
	DROP COLUMN synonyms;
