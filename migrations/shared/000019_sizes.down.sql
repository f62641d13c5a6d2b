DROP FUNCTION total_relation_bytes;
DROP FUNCTION relation_bytes;
