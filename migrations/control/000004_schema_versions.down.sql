DROP TABLE compatibility;
ALTER TABLE tenants DROP COLUMN migration_error, DROP COLUMN schema_version;
