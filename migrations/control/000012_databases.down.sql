DROP FUNCTION served(text);
DROP TABLE identity;
DROP TABLE databases;
DROP INDEX tenants_placed;
ALTER TABLE tenants DROP COLUMN database_name;
