-- The names that an index has, apart from what mentions them: a batch of texts is
-- compared with all of them where they are fewer than what it might mention.
CREATE FUNCTION index_names(index_id bigint) RETURNS void LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
BEGIN
	EXECUTE format('CREATE INDEX %I ON %I (key) WHERE type = 1', 'names_' || index_id, 'edge_' || index_id);
END
$$;

DO $$
DECLARE
	index_id bigint;
BEGIN
	FOR index_id IN SELECT i.index_id FROM indexes AS i LOOP
		PERFORM index_names(index_id);
	END LOOP;
END
$$;
