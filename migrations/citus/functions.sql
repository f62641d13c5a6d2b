-- These functions replace those of the same names in the schema that tenants share, in a database
-- whose tenants are distributed by Citus. The statements are run at each start, after the
-- migrations, and may be repeated.
--
-- A trigger on a distributed table runs on the worker that has the table, under another name: it
-- sees the other tables of the tenant there, also under other names (stored_as), and nothing
-- of the coordinator, such as hooks and who listens. So it puts what concerns these into the
-- tenant's table outbox (put_out). The transaction that wrote empties the outbox at its
-- end, on the coordinator (drain).

-- stored_as returns the quoted name of a tenant's table on this node.
CREATE OR REPLACE FUNCTION ragd_shared.stored_as(schema name, relation name) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT coalesce(
		(SELECT pg_catalog.shard_name(s.logicalrelid, s.shardid) FROM pg_catalog.pg_dist_shard AS s
			WHERE s.logicalrelid = pg_catalog.to_regclass(pg_catalog.format('%I.%I', schema, relation))),
		pg_catalog.format('%I.%I', schema, relation))
$$;

-- settle does on the coordinator what triggers on a tenant's tables do elsewhere at once.
CREATE OR REPLACE FUNCTION ragd_shared.settle(schema name, what text, data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	name text;
	ids  uuid[];
BEGIN
	CASE what
	WHEN 'documents' THEN
		ids := ARRAY(SELECT jsonb_array_elements_text(data -> 'documents')::uuid);
		PERFORM pg_notify('ragd_event', json_build_object('schema', schema, 'kind', 'document', 'name', d, 'index', data ->> 'index')::text) FROM unnest(ids) AS d;
		PERFORM ragd_shared.record_documents(schema, ids);
	WHEN 'deleted' THEN
		PERFORM ragd_shared.record_deleted(schema, (data ->> 'index')::bigint, data -> 'documents');
	WHEN 'files' THEN
		DELETE FROM ragd_shared.vector_store_files AS f WHERE f.index_name = data ->> 'index' AND f.refused IS NULL
			AND (f.file_id || '/' || f.file_name) IN (SELECT jsonb_array_elements_text(data -> 'uris'))
			AND f.file_id IN (SELECT split_part(u, '/', 1) FROM jsonb_array_elements_text(data -> 'uris') AS u);
	WHEN 'jobs' THEN
		IF ragd_shared.event_wanted('job') THEN
			PERFORM ragd_shared.record_jobs(schema, ARRAY(SELECT jsonb_array_elements_text(data)::uuid));
		END IF;
	WHEN 'index' THEN
		FOR name IN SELECT n FROM jsonb_array_elements_text(data -> 'names') AS n LOOP
			PERFORM pg_notify('ragd_event', json_build_object('schema', schema, 'kind', 'index', 'name', name)::text);
		END LOOP;
		PERFORM ragd_shared.record_change('index', name, name, data ->> 'operation');
	WHEN 'renewed' THEN
		name := data ->> 'name';
		DELETE FROM ragd_shared.vector_stores AS s WHERE s.index_name = name;
		DELETE FROM ragd_shared.vector_store_files AS f WHERE f.index_name = name;
		DELETE FROM ragd_shared.file_batches AS b WHERE b.index_name = name;
	END CASE;
END
$$;

-- put_out leaves something for the end of the transaction, or does it now if the tenant's schema is not
-- distributed.
CREATE OR REPLACE FUNCTION ragd_shared.put_out(schema name, what text, data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	box text := ragd_shared.stored_as(schema, 'outbox');
BEGIN
	IF to_regclass(box) IS NULL THEN
		PERFORM ragd_shared.settle(schema, what, data);
	ELSE
		EXECUTE format('INSERT INTO %s (what, data) VALUES ($1, $2)', box) USING what, data;
	END IF;
END
$$;

-- drain empties the outbox of a tenant. It does nothing for one whose schema is not distributed.
CREATE OR REPLACE FUNCTION ragd_shared.drain(schema name) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	entries jsonb;
	entry   jsonb;
BEGIN
	IF to_regclass(format('%I.outbox', schema)) IS NULL THEN
		RETURN;
	END IF;
	EXECUTE format('WITH gone AS (DELETE FROM %I.outbox RETURNING created_at, what, data) SELECT jsonb_agg(to_jsonb(g) ORDER BY g.created_at) FROM gone AS g', schema) INTO entries;
	FOR entry IN SELECT e FROM jsonb_array_elements(entries) AS e LOOP
		PERFORM ragd_shared.settle(schema, entry ->> 'what', entry -> 'data');
	END LOOP;
END
$$;

-- event_wanted is true on a worker, which cannot know: the coordinator looks again.
CREATE OR REPLACE FUNCTION ragd_shared.event_wanted(topic text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF ragd_shared.current_tenant() IS NULL THEN
		RETURN false;
	END IF;
	IF (SELECT l.groupid <> 0 FROM pg_catalog.pg_dist_local_group AS l) THEN
		RETURN true;
	END IF;
	RETURN EXISTS (SELECT FROM ragd_shared.hooks AS h WHERE h.enabled AND h.topics && ARRAY[topic, '*'])
		OR EXISTS (SELECT FROM ragd_shared.event_watchers AS w WHERE w.until > now() AND w.topics && ARRAY[topic, '*']);
END
$$;

-- What events tell is read from the worker first: an INSERT of rows of a worker would take the defaults of the
-- columns there, also the id of the transaction.
CREATE OR REPLACE FUNCTION ragd_shared.record_documents(schema name, documents uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	found jsonb;
BEGIN
	IF NOT ragd_shared.event_wanted('document') THEN
		RETURN;
	END IF;
	EXECUTE format('
		SELECT jsonb_agg(jsonb_build_object(''document'', to_jsonb(d), ''index'', i.index_name))
		FROM %1$I.documents AS d JOIN %1$I.indexes AS i USING (index_id) WHERE d.document_id = ANY($1)', schema) INTO found USING documents;
	INSERT INTO ragd_shared.events (type, index_name, document_id, job_id, data)
	SELECT CASE f.document ->> 'status' WHEN 'needs_ocr' THEN 'document.failed' ELSE 'document.' || (f.document ->> 'status') END, f.index,
		(f.document ->> 'document_id')::uuid, (f.document ->> 'job_id')::uuid, ragd_shared.document_data(f.document, f.index)
	FROM jsonb_to_recordset(found) AS f (document jsonb, index text);
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.record_deleted(schema name, index_id bigint, documents jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	most CONSTANT int := 1000;
	index_name    text;
BEGIN
	EXECUTE format('SELECT i.index_name FROM %I.indexes AS i WHERE i.index_id = $1', schema) INTO index_name USING index_id;
	IF index_name IS NULL THEN
		RETURN;
	END IF;
	IF jsonb_array_length(documents) > most THEN
		INSERT INTO ragd_shared.events (type, index_name, data)
		VALUES ('document.deleted', index_name, jsonb_build_object('indexName', index_name, 'count', jsonb_array_length(documents)));
	ELSE
		INSERT INTO ragd_shared.events (type, index_name, document_id, job_id, data)
		SELECT 'document.deleted', index_name, (d ->> 'document_id')::uuid, (d ->> 'job_id')::uuid, ragd_shared.document_data(d, index_name)
		FROM jsonb_array_elements(documents) AS d;
	END IF;
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.record_jobs(schema name, jobs uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	found jsonb;
BEGIN
	IF cardinality(jobs) = 0 THEN
		RETURN;
	END IF;
	EXECUTE format('SELECT jsonb_agg(to_jsonb(j)) FROM %I.jobs AS j WHERE j.job_id = ANY($1)', schema) INTO found USING jobs;
	INSERT INTO ragd_shared.events (type, index_name, document_id, job_id, data)
	SELECT CASE j ->> 'status' WHEN 'running' THEN 'job.started' ELSE 'job.' || (j ->> 'status') END, j ->> 'index_name', (j ->> 'document_id')::uuid, (j ->> 'job_id')::uuid,
		jsonb_build_object('jobId', j -> 'job_id', 'kind', j -> 'kind', 'status', j -> 'status', 'indexName', j -> 'index_name', 'documentId', j -> 'document_id',
			'done', j -> 'done', 'total', j -> 'total', 'unit', j -> 'unit', 'attempts', j -> 'attempts', 'error', j -> 'error')
	FROM jsonb_array_elements(found) AS j;
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.count_documents(schema name, index_id bigint, chunks bigint, written bigint, ready bigint, pending bigint, failed bigint, documents bigint, bytes bigint, announced uuid[])
	RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	index_name text;
BEGIN
	IF (chunks, written, ready, pending, failed, documents, bytes) <> (0, 0, 0, 0, 0, 0, 0) THEN
		EXECUTE format('
			INSERT INTO %1$s AS c (index_id, slot, chunks, written, ready, pending, failed, documents, bytes)
			SELECT i.index_id, pg_backend_pid() %% 16, $2, $3, $4, $5, $6, $7, $8 FROM %2$s AS i WHERE i.index_id = $1
			ON CONFLICT (index_id, slot) DO UPDATE SET
				chunks  = c.chunks + excluded.chunks,
				written = c.written + excluded.written,
				ready   = c.ready + excluded.ready,
				pending = c.pending + excluded.pending,
				failed  = c.failed + excluded.failed,
				documents = c.documents + excluded.documents,
				bytes   = c.bytes + excluded.bytes', ragd_shared.stored_as(schema, 'index_counts'), ragd_shared.stored_as(schema, 'indexes'))
			USING index_id, chunks, written, ready, pending, failed, documents, bytes;
	END IF;
	IF announced IS NOT NULL THEN
		EXECUTE format('SELECT i.index_name FROM %s AS i WHERE i.index_id = $1', ragd_shared.stored_as(schema, 'indexes')) INTO index_name USING index_id;
		IF index_name IS NOT NULL THEN
			PERFORM ragd_shared.put_out(schema, 'documents', jsonb_build_object('index', index_name, 'documents', to_jsonb(announced)));
		END IF;
	END IF;
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.forget_files(schema name, index_id bigint, uris text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	index_name text;
BEGIN
	EXECUTE format('SELECT i.index_name FROM %s AS i WHERE i.index_id = $1', ragd_shared.stored_as(schema, 'indexes')) INTO index_name USING index_id;
	IF index_name IS NOT NULL THEN
		PERFORM ragd_shared.put_out(schema, 'files', jsonb_build_object('index', index_name, 'uris', to_jsonb(uris)));
	END IF;
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.deleted_recorded() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.put_out(TG_TABLE_SCHEMA, 'deleted', jsonb_build_object('index', n.index_id, 'documents', n.documents))
	FROM (SELECT b.index_id, jsonb_agg(to_jsonb(b)) AS documents FROM before AS b GROUP BY b.index_id) AS n;
	RETURN NULL;
END
$$;

-- Nothing that is deleted is kept in a distributed schema.
CREATE OR REPLACE FUNCTION ragd_shared.erase_contents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DELETE FROM %s WHERE document_id = ANY($1)', ragd_shared.stored_as(TG_TABLE_SCHEMA, 'document_contents'))
		USING ARRAY(SELECT b.document_id FROM before AS b);
	RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.jobs_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.put_out(TG_TABLE_SCHEMA, 'jobs', n.jobs) FROM (SELECT jsonb_agg(a.job_id) AS jobs FROM after AS a) AS n WHERE n.jobs IS NOT NULL;
	RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.jobs_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.put_out(TG_TABLE_SCHEMA, 'jobs', n.jobs)
	FROM (SELECT jsonb_agg(a.job_id) AS jobs FROM after AS a JOIN before AS b USING (job_id) WHERE a.status <> b.status) AS n WHERE n.jobs IS NOT NULL;
	RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.index_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	names jsonb := '[]';
BEGIN
	IF TG_OP <> 'INSERT' THEN
		names := names || to_jsonb(OLD.index_name);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		names := names || to_jsonb(NEW.index_name);
	END IF;
	PERFORM ragd_shared.put_out(TG_TABLE_SCHEMA, 'index', jsonb_build_object('names', names, 'operation', TG_OP));
	RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.index_renewed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ragd_shared.put_out(TG_TABLE_SCHEMA, 'renewed', jsonb_build_object('name', CASE TG_OP WHEN 'DELETE' THEN OLD.index_name ELSE NEW.index_name END));
	RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.count_edges(schema name, index_id bigint, sign int, names bigint, mentions bigint, similarities bigint)
	RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('
		INSERT INTO %1$s AS c (index_id, slot, graph_version, names, mentions, similarities)
		SELECT i.index_id, pg_backend_pid() %% 16, 1, $2, $3, $4 FROM %2$s AS i WHERE i.index_id = $1
		ON CONFLICT (index_id, slot) DO UPDATE SET
			graph_version = c.graph_version + 1,
			names         = c.names + excluded.names,
			mentions      = c.mentions + excluded.mentions,
			similarities  = c.similarities + excluded.similarities', ragd_shared.stored_as(schema, 'index_counts'), ragd_shared.stored_as(schema, 'indexes'))
		USING index_id, sign * names, sign * mentions, sign * similarities;
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.delete_edges() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	documents uuid[] := ARRAY(SELECT DISTINCT d.document_id FROM deleted AS d WHERE d.document_id IS NOT NULL);
	members   text := ragd_shared.stored_as(TG_TABLE_SCHEMA, 'member_' || TG_ARGV[0]);
	edges     text := ragd_shared.stored_as(TG_TABLE_SCHEMA, 'edge_' || TG_ARGV[0]);
BEGIN
	IF cardinality(documents) = 0 THEN
		RETURN NULL;
	END IF;
	IF to_regclass(members) IS NOT NULL THEN
		EXECUTE format('
			DELETE FROM %1$s WHERE ctid = ANY(ARRAY(
				SELECT m.ctid FROM %1$s AS m WHERE m.document_id = ANY($1) ORDER BY m.document_id, m.ordinal FOR UPDATE))', members) USING documents;
	END IF;
	IF to_regclass(edges) IS NULL THEN
		RETURN NULL;
	END IF;
	EXECUTE format('
		WITH named AS MATERIALIZED (
			SELECT e.ctid FROM %1$s AS e WHERE e.document_id = ANY($1) AND e.key IS NOT NULL
			ORDER BY e.key, e.type, e.document_id, e.ordinal FOR UPDATE
		), linked AS MATERIALIZED (
			SELECT e.ctid FROM %1$s AS e WHERE e.key IS NULL AND (e.document_id = ANY($1) OR e.to_document_id = ANY($1))
			ORDER BY e.to_document_id, e.to_ordinal, e.document_id, e.ordinal FOR UPDATE
		)
		DELETE FROM %1$s WHERE ctid = ANY(ARRAY(SELECT ctid FROM named UNION ALL SELECT ctid FROM linked))', edges) USING documents;
	RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.record_changed_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('
		INSERT INTO %s AS r (document_id)
		SELECT DISTINCT c.document_id FROM changed AS c WHERE c.document_id IS NOT NULL ORDER BY 1
		ON CONFLICT (document_id) DO UPDATE SET change = r.change + 1', ragd_shared.stored_as(TG_TABLE_SCHEMA, 'reembed_' || TG_ARGV[0]));
	RETURN NULL;
END
$$;

-- A table of a distributed tenant is empty on the coordinator.
CREATE OR REPLACE FUNCTION ragd_shared.relation_bytes(relation regclass) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF EXISTS (SELECT FROM pg_catalog.pg_dist_partition AS p WHERE p.logicalrelid = relation) THEN
		RETURN pg_catalog.citus_relation_size(relation);
	END IF;
	RETURN pg_catalog.pg_relation_size(relation);
END
$$;

CREATE OR REPLACE FUNCTION ragd_shared.total_relation_bytes(relation regclass) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF EXISTS (SELECT FROM pg_catalog.pg_dist_partition AS p WHERE p.logicalrelid = relation) THEN
		RETURN pg_catalog.citus_total_relation_size(relation);
	END IF;
	RETURN pg_catalog.pg_total_relation_size(relation);
END
$$;

-- The workers have the functions that do not depend on tables.
DO $$
DECLARE
	shared regprocedure;
BEGIN
	FOR shared IN
		SELECT p.oid FROM pg_catalog.pg_proc AS p
		WHERE p.pronamespace = 'ragd_shared'::regnamespace
			AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.refclassid = 'pg_class'::regclass)
			AND NOT EXISTS (SELECT FROM pg_catalog.pg_dist_object AS o WHERE o.classid = 'pg_proc'::regclass AND o.objid = p.oid)
		ORDER BY p.oid
	LOOP
		PERFORM pg_catalog.create_distributed_function(shared);
	END LOOP;
END
$$;
