DO $$
DECLARE
	index_id bigint;
BEGIN
	FOR index_id IN SELECT i.index_id FROM indexes AS i LOOP
		EXECUTE format('DROP TRIGGER chunks_dropped ON %I', 'chunk_' || index_id);
		EXECUTE format('DROP TABLE %I', 'edge_' || index_id);
	END LOOP;
END
$$;
DROP FUNCTION make_edges(bigint, regclass);
DROP FUNCTION drop_edges();
DROP FUNCTION count_edges();
DROP TABLE graph_counts;
