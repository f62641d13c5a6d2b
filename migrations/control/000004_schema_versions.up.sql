-- schema_version is the version of the tenant's schema, written in the transaction that
-- changes the schema. What counts is the table schema_migrations in the schema itself; the
-- column tells which tenants are behind without reading 10,000 tables. migration_error is
-- the error of the last migration, if that failed.
ALTER TABLE tenants
	ADD COLUMN schema_version  int NOT NULL DEFAULT 0,
	ADD COLUMN migration_error text;

-- compatibility has one row: the version of this schema that a ragd must know to work with the
-- database. A migration raises it that takes away what older releases need (a contract step);
-- those refuse to start then.
CREATE TABLE compatibility (
	control_version int NOT NULL,
	only_row        boolean PRIMARY KEY DEFAULT true CHECK (only_row)
);
INSERT INTO compatibility (control_version) VALUES (0);
