DO $$
DECLARE
	index_id bigint;
BEGIN
	FOR index_id IN SELECT i.index_id FROM indexes AS i LOOP
		EXECUTE format('DROP TRIGGER IF EXISTS delete_edges ON %I', 'chunk_' || index_id);
		EXECUTE format('DROP TABLE IF EXISTS %I', 'edge_' || index_id);
	END LOOP;
END
$$;

DROP FUNCTION create_edge_table(bigint, regclass);
DROP FUNCTION delete_edges();
DROP FUNCTION count_edges();
DROP TABLE graph_counts;
DROP TYPE edge_type;
