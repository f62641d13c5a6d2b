ALTER TABLE documents DROP COLUMN language;
ALTER TABLE index_counts DROP COLUMN languages;
ALTER TABLE indexes DROP COLUMN text_analysis;
