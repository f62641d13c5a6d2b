-- relation_bytes returns the size of a table, total_relation_bytes that of a table with its indexes and
-- TOAST table, wherever they are.
CREATE FUNCTION relation_bytes(relation regclass) RETURNS bigint LANGUAGE sql STABLE RETURN pg_catalog.pg_relation_size(relation);
CREATE FUNCTION total_relation_bytes(relation regclass) RETURNS bigint LANGUAGE sql STABLE RETURN pg_catalog.pg_total_relation_size(relation);
