ALTER TABLE documents DROP COLUMN language;
ALTER TABLE indexes DROP COLUMN languages, DROP COLUMN text_analysis;
