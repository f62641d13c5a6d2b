ALTER TABLE indexes ADD COLUMN metadata_schema jsonb; -- JSON Schema of the metadata of uploads; null: any
