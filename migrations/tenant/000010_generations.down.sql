DROP FUNCTION note_changed() CASCADE;
DROP TABLE reembed_documents;

-- A next generation that is being made is given up. One that has taken over is known
-- by its index alone from now on.
DO $$
DECLARE
	i record;
BEGIN
	FOR i IN SELECT index_id, generation, next_model FROM indexes LOOP
		EXECUTE format('DROP TABLE IF EXISTS %I', 'chunk_' || i.index_id || '_' || i.generation + 1);
		IF i.generation > 0 THEN
			EXECUTE format('ALTER TABLE %I RENAME TO %I', 'chunk_' || i.index_id || '_' || i.generation, 'chunk_' || i.index_id);
			EXECUTE format('ALTER INDEX IF EXISTS %I RENAME TO %I', 'embedding_' || i.index_id || '_' || i.generation, 'embedding_' || i.index_id);
		END IF;
	END LOOP;
END
$$;

ALTER TABLE indexes DROP generation, DROP reembed_job_id, DROP next_model, DROP next_dimension, DROP next_vector_type;
