ALTER TABLE indexes DROP COLUMN metadata_schema;
