CREATE OR REPLACE FUNCTION count_edges() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
DECLARE
	sign int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
	INSERT INTO graph_counts AS c (index_id, slot, version, names, mentions, similarities)
	SELECT i.index_id, pg_backend_pid() % 16, 1, sign * n.names, sign * n.mentions, sign * n.similarities
	FROM (
		SELECT count(*) FILTER (WHERE type = 1) AS names, count(*) FILTER (WHERE type = 2) AS mentions,
			count(*) FILTER (WHERE type = 3) AS similarities
		FROM changed
	) AS n
	-- With its index, an edge table goes as a whole.
	JOIN indexes AS i ON i.index_id = TG_ARGV[0]::bigint
	WHERE n.names + n.mentions + n.similarities > 0
	ON CONFLICT (index_id, slot) DO UPDATE SET
		version  = c.version + 1,
		names    = c.names + excluded.names,
		mentions = c.mentions + excluded.mentions,
		similarities = c.similarities + excluded.similarities;
	RETURN NULL;
END
$$;

DO $$
DECLARE
	index_id bigint;
BEGIN
	FOR index_id IN SELECT i.index_id FROM indexes AS i LOOP
		EXECUTE format('DELETE FROM %I WHERE type = 5', 'edge_' || index_id);
	END LOOP;
END
$$;
