DROP INDEX documents_by_title;
ALTER TABLE indexes
	DROP COLUMN curations,
	DROP COLUMN synonyms;
