DO $$
DECLARE
	index_id bigint;
BEGIN
	FOR index_id IN SELECT i.index_id FROM indexes AS i LOOP
		EXECUTE format('DROP INDEX %I', 'names_' || index_id);
	END LOOP;
END
$$;

DROP FUNCTION index_names(bigint);
