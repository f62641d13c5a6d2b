CREATE SCHEMA ragd_shared;

CREATE TYPE ragd_shared.edge_type AS ENUM (
    'name',
    'mention',
    'similar',
    'prefix',
    'section'
);

CREATE FUNCTION ragd_shared.announce() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	before  jsonb := to_jsonb(CASE WHEN TG_OP = 'INSERT' THEN NEW ELSE OLD END);
	changed jsonb := to_jsonb(CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END);
	within  text;
BEGIN
	FOR within IN SELECT DISTINCT coalesce(r #>> TG_ARGV[2]::text[], '') FROM unnest(ARRAY[before, changed]) AS r LOOP
		PERFORM pg_notify('ragd_event', json_build_object(
			'schema', 'tenant_' || (changed ->> 'tenant_id'), 'kind', TG_ARGV[0], 'name', changed ->> TG_ARGV[1], 'index', within)::text);
		PERFORM ragd_shared.record_change(TG_ARGV[0], changed ->> TG_ARGV[1], within, TG_OP);
	END LOOP;
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.check_writable(tenant text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
	FOR attempt IN 1..2 LOOP
		IF EXISTS (SELECT FROM ragd_shared.stopped_tenants AS s WHERE s.tenant_id = tenant) THEN
			RAISE EXCEPTION 'the tenant is being moved to another database' USING ERRCODE = 'RG002';
		END IF;
		IF attempt = 1 THEN
			PERFORM pg_advisory_xact_lock_shared(hashtextextended('tenant_' || tenant || '/writes', 0));
		END IF;
	END LOOP;
END
$$;

CREATE FUNCTION ragd_shared.count_documents(schema name, index_id bigint, chunks bigint, written bigint, ready bigint, pending bigint, failed bigint, documents bigint, bytes bigint, announced uuid[]) RETURNS void
    LANGUAGE plpgsql
    AS $_$
BEGIN
	IF (chunks, written, ready, pending, failed, documents, bytes) <> (0, 0, 0, 0, 0, 0, 0) THEN
		EXECUTE format('
			INSERT INTO %1$I.index_counts AS c (index_id, slot, chunks, written, ready, pending, failed, documents, bytes)
			SELECT i.index_id, pg_backend_pid() %% 16, $2, $3, $4, $5, $6, $7, $8 FROM %1$I.indexes AS i WHERE i.index_id = $1
			ON CONFLICT (index_id, slot) DO UPDATE SET
				chunks  = c.chunks + excluded.chunks,
				written = c.written + excluded.written,
				ready   = c.ready + excluded.ready,
				pending = c.pending + excluded.pending,
				failed  = c.failed + excluded.failed,
				documents = c.documents + excluded.documents,
				bytes   = c.bytes + excluded.bytes', schema) USING index_id, chunks, written, ready, pending, failed, documents, bytes;
	END IF;
	IF (chunks, written) <> (0, 0) THEN
		PERFORM ragd_shared.record_chunks(index_id, chunks, written, announced, NULL, NULL);
	END IF;
	IF announced IS NOT NULL THEN
		EXECUTE format('
			SELECT pg_notify(''ragd_event'', json_build_object(''schema'', $1, ''kind'', ''document'', ''name'', d.document_id, ''index'', i.index_name)::text)
			FROM %I.indexes AS i CROSS JOIN unnest($3) AS d (document_id) WHERE i.index_id = $2', schema) USING schema, index_id, announced;
		PERFORM ragd_shared.record_documents(schema, announced);
	END IF;
END
$_$;

CREATE FUNCTION ragd_shared.count_edges(schema name, index_id bigint, sign integer, names bigint, mentions bigint, similarities bigint) RETURNS void
    LANGUAGE plpgsql
    AS $_$
BEGIN
	EXECUTE format('
		INSERT INTO %1$I.index_counts AS c (index_id, slot, graph_version, names, mentions, similarities)
		SELECT i.index_id, pg_backend_pid() %% 16, 1, $2, $3, $4 FROM %1$I.indexes AS i WHERE i.index_id = $1
		ON CONFLICT (index_id, slot) DO UPDATE SET
			graph_version = c.graph_version + 1,
			names         = c.names + excluded.names,
			mentions      = c.mentions + excluded.mentions,
			similarities  = c.similarities + excluded.similarities', schema) USING index_id, sign * names, sign * mentions, sign * similarities;
END
$_$;

CREATE FUNCTION ragd_shared.current_tenant() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN starts_with((CURRENT_USER)::text, 'tenant_'::text) THEN substr((CURRENT_USER)::text, (length('tenant_'::text) + 1)) ELSE NULL::text END;

CREATE FUNCTION ragd_shared.delete_edges() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
DECLARE
	documents uuid[] := ARRAY(SELECT DISTINCT d.document_id FROM deleted AS d WHERE d.document_id IS NOT NULL);
	-- A query of the catalog, unlike to_regclass, sees a table that another session has just made.
	tables text[] := ARRAY(
		SELECT t.relname::text FROM pg_catalog.pg_class AS t JOIN pg_catalog.pg_class AS c ON c.relnamespace = t.relnamespace
		WHERE c.oid = TG_RELID AND t.relname = ANY(ARRAY['edge_' || TG_ARGV[0], 'member_' || TG_ARGV[0]]::name[]));
BEGIN
	IF cardinality(documents) = 0 OR cardinality(tables) = 0 THEN
		RETURN NULL;
	END IF;
	IF 'member_' || TG_ARGV[0] = ANY(tables) THEN
		EXECUTE format('
			DELETE FROM %1$I.%2$I WHERE ctid = ANY(ARRAY(
				SELECT m.ctid FROM %1$I.%2$I AS m WHERE m.document_id = ANY($1) ORDER BY m.document_id, m.ordinal FOR UPDATE))',
			TG_TABLE_SCHEMA, 'member_' || TG_ARGV[0]) USING documents;
	END IF;
	IF 'edge_' || TG_ARGV[0] <> ALL(tables) THEN
		RETURN NULL;
	END IF;
	EXECUTE format('
		WITH named AS MATERIALIZED (
			SELECT e.ctid FROM %1$I.%2$I AS e WHERE e.document_id = ANY($1) AND e.key IS NOT NULL
			ORDER BY e.key, e.type, e.document_id, e.ordinal FOR UPDATE
		), linked AS MATERIALIZED (
			SELECT e.ctid FROM %1$I.%2$I AS e WHERE e.key IS NULL AND (e.document_id = ANY($1) OR e.to_document_id = ANY($1))
			ORDER BY e.to_document_id, e.to_ordinal, e.document_id, e.ordinal FOR UPDATE
		)
		DELETE FROM %1$I.%2$I WHERE ctid = ANY(ARRAY(SELECT ctid FROM named UNION ALL SELECT ctid FROM linked))',
		TG_TABLE_SCHEMA, 'edge_' || TG_ARGV[0]) USING documents;
	RETURN NULL;
END
$_$;

CREATE FUNCTION ragd_shared.deleted_recorded() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM ragd_shared.record_deleted(TG_TABLE_SCHEMA, n.index_id, n.documents)
	FROM (SELECT b.index_id, jsonb_agg(to_jsonb(b)) AS documents FROM before AS b GROUP BY b.index_id) AS n;
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.deliver_events() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	deliveries bigint;
	tenants    text[] := ARRAY(SELECT DISTINCT e.tenant_id FROM after AS e WHERE e.type <> 'hook.test');
BEGIN
	IF cardinality(tenants) = 0 THEN
		RETURN NULL;
	END IF;
	INSERT INTO ragd_shared.hook_deliveries (hook_name, xid, number)
	SELECT h.hook_name, e.xid, e.number
	FROM after AS e JOIN ragd_shared.hooks AS h ON h.enabled AND h.events && ARRAY[e.type, split_part(e.type, '.', 1) || '.*', '*']
	WHERE (h.tools = '{}' OR e.type NOT LIKE 'tool.%' OR e.tool_name = ANY(h.tools))
		AND (h.indexes = '{}' OR e.index_name = ANY(h.indexes) OR e.index_name = '' AND e.type NOT LIKE 'tool.%');
	GET DIAGNOSTICS deliveries = ROW_COUNT;
	PERFORM pg_notify('ragd_event', json_build_object(
		'schema', 'tenant_' || tenants[1], 'kind', 'event', 'name', CASE WHEN deliveries > 0 THEN 'deliver' ELSE '' END)::text);
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.document_data(d jsonb, index_name text) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    RETURN jsonb_build_object('indexName', index_name, 'documentId', (d -> 'document_id'::text), 'uri', (d -> 'uri'::text), 'title', (d -> 'title'::text), 'namespace', (d -> 'namespace'::text), 'contentType', (d -> 'content_type'::text), 'contentHash', (d -> 'content_hash'::text), 'version', (d -> 'version'::text), 'chunkCount', (d -> 'chunk_count'::text), 'byteSize', (d -> 'byte_size'::text), 'metadata', (d -> 'metadata'::text), 'jobId', (d -> 'job_id'::text), 'error', (d -> 'error'::text));

CREATE FUNCTION ragd_shared.documents_deleted() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM ragd_shared.count_documents(TG_TABLE_SCHEMA, n.index_id, n.chunks, 0, n.ready, n.pending, n.failed, n.documents, n.bytes, n.deleted) FROM (
		SELECT b.index_id, -sum(b.chunk_count) AS chunks, -count(*) AS documents, -sum(b.byte_size)::bigint AS bytes, -count(*) FILTER (WHERE b.status = 'ready') AS ready,
			-count(*) FILTER (WHERE b.status IN ('pending', 'processing')) AS pending,
			-count(*) FILTER (WHERE b.status IN ('failed', 'needs_ocr')) AS failed, array_agg(b.document_id) AS deleted
		FROM before AS b GROUP BY b.index_id ORDER BY b.index_id) AS n;
	PERFORM ragd_shared.forget_files(TG_TABLE_SCHEMA, n.index_id, n.uris)
	FROM (SELECT b.index_id, array_agg(b.uri) AS uris FROM before AS b WHERE b.namespace = 'default' AND b.uri LIKE 'file-%/%' GROUP BY b.index_id) AS n;
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.documents_inserted() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM ragd_shared.count_documents(TG_TABLE_SCHEMA, n.index_id, 0, 0, 0, n.documents, 0, n.documents, n.bytes, NULL)
	FROM (SELECT a.index_id, count(*) AS documents, sum(a.byte_size)::bigint AS bytes FROM after AS a GROUP BY a.index_id ORDER BY a.index_id) AS n;
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.documents_updated() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM ragd_shared.count_documents(TG_TABLE_SCHEMA, n.index_id, n.chunks, n.written, n.ready, n.pending, n.failed, 0, n.bytes, n.ended) FROM (
		SELECT a.index_id, sum(a.chunk_count - b.chunk_count) AS chunks, sum(a.byte_size - b.byte_size)::bigint AS bytes,
			coalesce(sum(a.chunk_count) FILTER (WHERE a.status = 'ready' AND b.status <> 'ready'), 0) AS written,
			sum((a.status = 'ready')::int - (b.status = 'ready')::int) AS ready,
			sum((a.status IN ('pending', 'processing'))::int - (b.status IN ('pending', 'processing'))::int) AS pending,
			sum((a.status IN ('failed', 'needs_ocr'))::int - (b.status IN ('failed', 'needs_ocr'))::int) AS failed,
			array_agg(a.document_id) FILTER (WHERE a.status IN ('ready', 'failed', 'needs_ocr') AND a.status <> b.status) AS ended
		FROM after AS a JOIN before AS b USING (document_id)
		WHERE (a.status, a.chunk_count, a.byte_size) <> (b.status, b.chunk_count, b.byte_size)
		GROUP BY a.index_id ORDER BY a.index_id) AS n;
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.edges_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM ragd_shared.count_edges(TG_TABLE_SCHEMA, TG_ARGV[0]::bigint, CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END, n.names, n.mentions, n.similarities)
	FROM (
		SELECT count(*) FILTER (WHERE type = 'name') AS names, count(*) FILTER (WHERE type = 'mention') AS mentions,
			count(*) FILTER (WHERE type = 'similar') AS similarities, count(*) AS rows
		FROM changed) AS n
	WHERE n.rows > 0;
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.erase_contents() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
BEGIN
	IF coalesce(current_setting('ragd.keeps', true), '') <> 'on' THEN
		EXECUTE format('DELETE FROM %I.document_contents WHERE document_id = ANY($1)', TG_TABLE_SCHEMA) USING ARRAY(SELECT b.document_id FROM before AS b);
	END IF;
	RETURN NULL;
END
$_$;

CREATE FUNCTION ragd_shared.event_wanted(topic text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
	RETURN ragd_shared.current_tenant() IS NOT NULL AND (
		EXISTS (SELECT FROM ragd_shared.hooks AS h WHERE h.enabled AND h.topics && ARRAY[topic, '*'])
		OR EXISTS (SELECT FROM ragd_shared.event_watchers AS w WHERE w.until > now() AND w.topics && ARRAY[topic, '*']));
END
$$;

CREATE TABLE ragd_shared.files (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    file_id text NOT NULL COLLATE pg_catalog."C",
    file_name text NOT NULL,
    purpose text NOT NULL,
    byte_size bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone
);

CREATE FUNCTION ragd_shared.file_bytes() RETURNS bigint
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT (COALESCE(sum(files.byte_size), (0)::numeric))::bigint AS "coalesce"
    FROM ragd_shared.files;
END;

CREATE FUNCTION ragd_shared.forget_files(schema name, index_id bigint, uris text[]) RETURNS void
    LANGUAGE plpgsql
    AS $_$
BEGIN
	EXECUTE format('
		DELETE FROM ragd_shared.vector_store_files AS f USING %I.indexes AS i
		WHERE i.index_id = $1 AND f.index_name = i.index_name AND f.refused IS NULL
			AND f.file_id = ANY(ARRAY(SELECT split_part(u, ''/'', 1) FROM unnest($2) AS u)) AND f.file_id || ''/'' || f.file_name = ANY($2)', schema) USING index_id, uris;
END
$_$;

CREATE FUNCTION ragd_shared.index_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	name text := CASE WHEN TG_OP = 'DELETE' THEN OLD.index_name ELSE NEW.index_name END;
BEGIN
	IF TG_OP <> 'INSERT' THEN
		PERFORM pg_notify('ragd_event', json_build_object('schema', TG_TABLE_SCHEMA, 'kind', 'index', 'name', OLD.index_name)::text);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		PERFORM pg_notify('ragd_event', json_build_object('schema', TG_TABLE_SCHEMA, 'kind', 'index', 'name', NEW.index_name)::text);
	END IF;
	PERFORM ragd_shared.record_change('index', name, name, TG_OP);
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.index_renewed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
	name text := CASE TG_OP WHEN 'DELETE' THEN OLD.index_name ELSE NEW.index_name END;
BEGIN
	DELETE FROM ragd_shared.vector_stores AS s WHERE s.index_name = name;
	DELETE FROM ragd_shared.vector_store_files AS f WHERE f.index_name = name;
	DELETE FROM ragd_shared.file_batches AS b WHERE b.index_name = name;
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.instant(t text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $_$
BEGIN
	IF octet_length(t) NOT BETWEEN 10 AND 40 OR t !~ ('^(?!0000)('
		'[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))'
		'|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)'
		'(?:[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?(?:[Zz]|[+-](?:0[0-9]|1[0-5])(?::?[0-5][0-9])?)?)?$') COLLATE "C" THEN
		RETURN NULL;
	END IF;
	IF substr(t, 11) !~ '[Zz+-]' COLLATE "C" THEN
		t := t || ' UTC';
	END IF;
	RETURN (extract(epoch FROM t::timestamptz) * 1000000)::bigint;
END
$_$;

CREATE FUNCTION ragd_shared.jobs_inserted() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM ragd_shared.record_jobs(TG_TABLE_SCHEMA, ARRAY(SELECT a.job_id FROM after AS a));
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.jobs_updated() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM ragd_shared.record_jobs(TG_TABLE_SCHEMA, ARRAY(SELECT a.job_id FROM after AS a JOIN before AS b USING (job_id) WHERE a.status <> b.status));
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.mcp_message_sent() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM pg_notify('ragd_event', json_build_object('schema', 'tenant_' || NEW.tenant_id, 'kind', 'mcp_message',
		'name', encode(NEW.session_hash, 'hex'), 'index', NEW.addressee || ' ' || NEW.message_id)::text);
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.mcp_session_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM pg_notify('ragd_event', json_build_object('schema', 'tenant_' || OLD.tenant_id, 'kind', 'mcp_session',
		'name', encode(OLD.session_hash, 'hex'), 'index', CASE TG_OP WHEN 'DELETE' THEN 0 ELSE NEW.version END::text)::text);
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.offers_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	IF TG_OP = 'UPDATE' OR OLD.offers::text <> '{}' THEN
		PERFORM pg_notify('ragd_event', json_build_object('schema', 'tenant_' || OLD.tenant_id, 'kind', kind, 'name', OLD.connector_name, 'index', '')::text)
		FROM unnest(ARRAY['tool', 'prompt']) AS kind;
	END IF;
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.record_change(kind text, name text, index_name text, operation text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
	topic text := CASE WHEN kind IN ('tool', 'prompt') THEN kind || 's' ELSE kind END;
BEGIN
	IF ragd_shared.event_wanted(topic) THEN
		INSERT INTO ragd_shared.events (type, index_name, data)
		VALUES (topic || '.changed', record_change.index_name, jsonb_build_object(
			'name', name, 'change', CASE operation WHEN 'INSERT' THEN 'created' WHEN 'UPDATE' THEN 'updated' ELSE 'deleted' END));
	END IF;
END
$$;

CREATE FUNCTION ragd_shared.record_changed_documents() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	EXECUTE format('
		INSERT INTO %I.%I AS r (document_id)
		SELECT DISTINCT c.document_id FROM changed AS c WHERE c.document_id IS NOT NULL ORDER BY 1
		ON CONFLICT (document_id) DO UPDATE SET change = r.change + 1', TG_TABLE_SCHEMA, 'reembed_' || TG_ARGV[0]);
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.record_chunks(index_id bigint, chunks bigint, written bigint, documents uuid[], namespace text, chunk_ids text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
	most CONSTANT int := 5000;
BEGIN
	INSERT INTO ragd_shared.chunk_changes (index_id, chunks, written, documents, namespace, chunk_ids)
	SELECT w.index_id, record_chunks.chunks, record_chunks.written, CASE WHEN cardinality(record_chunks.documents) <= most THEN record_chunks.documents END,
		record_chunks.namespace, CASE WHEN cardinality(record_chunks.chunk_ids) <= most THEN record_chunks.chunk_ids END
	FROM ragd_shared.watched_indexes AS w
	WHERE w.tenant_id = ragd_shared.current_tenant() AND w.index_id = record_chunks.index_id AND w.until > now();
END
$$;

CREATE FUNCTION ragd_shared.record_deleted(schema name, index_id bigint, documents jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $_$
DECLARE
	most CONSTANT int := 1000;
BEGIN
	IF jsonb_array_length(documents) > most THEN
		EXECUTE format('
			INSERT INTO ragd_shared.events (type, index_name, data)
			SELECT ''document.deleted'', i.index_name, jsonb_build_object(''indexName'', i.index_name, ''count'', $2)
			FROM %I.indexes AS i WHERE i.index_id = $1', schema) USING index_id, jsonb_array_length(documents);
	ELSE
		EXECUTE format('
			INSERT INTO ragd_shared.events (type, index_name, document_id, job_id, data)
			SELECT ''document.deleted'', i.index_name, (d ->> ''document_id'')::uuid, (d ->> ''job_id'')::uuid, ragd_shared.document_data(d, i.index_name)
			FROM %I.indexes AS i CROSS JOIN jsonb_array_elements($2) AS d WHERE i.index_id = $1', schema) USING index_id, documents;
	END IF;
END
$_$;

CREATE FUNCTION ragd_shared.record_documents(schema name, documents uuid[]) RETURNS void
    LANGUAGE plpgsql
    AS $_$
BEGIN
	IF ragd_shared.event_wanted('document') THEN
		EXECUTE format('
			INSERT INTO ragd_shared.events (type, index_name, document_id, job_id, data)
			SELECT CASE d.status WHEN ''needs_ocr'' THEN ''document.failed'' ELSE ''document.'' || d.status END, i.index_name, d.document_id, d.job_id, ragd_shared.document_data(to_jsonb(d), i.index_name)
			FROM %1$I.documents AS d JOIN %1$I.indexes AS i USING (index_id) WHERE d.document_id = ANY($1)', schema) USING documents;
	END IF;
END
$_$;

CREATE FUNCTION ragd_shared.record_jobs(schema name, jobs uuid[]) RETURNS void
    LANGUAGE plpgsql
    AS $_$
BEGIN
	IF cardinality(jobs) > 0 THEN
		EXECUTE format('
			INSERT INTO ragd_shared.events (type, index_name, document_id, job_id, data)
			SELECT CASE j.status WHEN ''running'' THEN ''job.started'' ELSE ''job.'' || j.status END, j.index_name, j.document_id, j.job_id,
				jsonb_build_object(''jobId'', j.job_id, ''kind'', j.kind, ''status'', j.status, ''indexName'', j.index_name, ''documentId'', j.document_id,
					''done'', j.done, ''total'', j.total, ''unit'', j.unit, ''attempts'', j.attempts, ''error'', j.error)
			FROM %I.jobs AS j WHERE j.job_id = ANY($1)', schema) USING jobs;
	END IF;
END
$_$;

CREATE FUNCTION ragd_shared.record_keys() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
BEGIN
	IF TG_OP = 'TRUNCATE' THEN
		EXECUTE format('INSERT INTO %I.moved_keys (relation) VALUES ($1)', TG_TABLE_SCHEMA) USING TG_RELNAME;
		RETURN NULL;
	END IF;
	EXECUTE format('INSERT INTO %I.moved_keys (relation, key) SELECT $1, jsonb_build_array(%s) FROM changed AS c', TG_TABLE_SCHEMA, TG_ARGV[0]) USING TG_RELNAME;
	IF TG_OP = 'UPDATE' THEN
		EXECUTE format('INSERT INTO %I.moved_keys (relation, key) SELECT $1, jsonb_build_array(%s) FROM before AS c', TG_TABLE_SCHEMA, TG_ARGV[0]) USING TG_RELNAME;
	END IF;
	RETURN NULL;
END
$_$;

CREATE FUNCTION ragd_shared.refuse_stopped() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	IF ragd_shared.current_tenant() IS NOT NULL THEN
		PERFORM ragd_shared.check_writable(ragd_shared.current_tenant());
	END IF;
	RETURN NULL;
END
$$;

CREATE FUNCTION ragd_shared.relation_bytes(relation regclass) RETURNS bigint
    LANGUAGE sql STABLE
    RETURN pg_relation_size(relation);

CREATE FUNCTION ragd_shared.term_dimension(term text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((hashtextextended(term, (0)::bigint) & (536870911)::bigint) + 1);

CREATE FUNCTION ragd_shared.total_relation_bytes(relation regclass) RETURNS bigint
    LANGUAGE sql STABLE
    RETURN pg_total_relation_size(relation);

CREATE FUNCTION ragd_shared.weigh_terms() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'ragd_shared', 'extensions'
    AS $$
DECLARE
	k1             CONSTANT float8 := 0.9;
	b              CONSTANT float8 := 0.4;
	typical_length CONSTANT float8 := 50;
	max_terms      CONSTANT int := 16000; -- the capacity of a sparsevec
	weak_weight    CONSTANT real := 0.65;
	max_lexeme     CONSTANT int := 2046;  -- bytes of a term
	length         float8;
	strong         text[];
BEGIN
	NEW.terms := to_tsvector(TG_ARGV[0]::regconfig,
		CASE WHEN NEW.text = '' AND NEW.document_id IS NULL THEN coalesce(NEW.metadata->>'text', '') ELSE NEW.text END);
	length := (SELECT sum(cardinality(t.positions)) FROM unnest(NEW.terms) AS t);
	SELECT ('{' || string_agg(w.dimension || ':' || w.weight, ',') || '}/1000000000')::sparsevec,
		array_agg(w.lexeme || E'\x01') FILTER (WHERE w.weight > weak_weight AND octet_length(w.lexeme) < max_lexeme)
	INTO NEW.term_weights, strong
	FROM (
		SELECT DISTINCT ON (term_dimension(t.lexeme)) term_dimension(t.lexeme) AS dimension, t.lexeme,
			(cardinality(t.positions) / (cardinality(t.positions) + k1 * (1 - b + b * length / typical_length)))::real AS weight
		FROM unnest(NEW.terms) AS t ORDER BY 1, 3 DESC
		LIMIT max_terms
	) AS w;
	IF strong IS NOT NULL THEN
		NEW.terms := NEW.terms || array_to_tsvector(strong);
	END IF;
	RETURN NEW;
END
$$;

CREATE TABLE ragd_shared.agent_threads (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    agent_name text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    thread_id text NOT NULL COLLATE pg_catalog."C",
    messages json NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.agents (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    agent_name text NOT NULL COLLATE pg_catalog."C",
    tool_name text GENERATED ALWAYS AS (('ask_'::text || agent_name)) STORED NOT NULL,
    definition json NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.alert_matches (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    alert_id uuid NOT NULL,
    document_id uuid NOT NULL,
    passage bytea NOT NULL,
    match_id uuid NOT NULL,
    score double precision NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE ragd_shared.alerts (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    alert_id uuid NOT NULL,
    index_id bigint NOT NULL,
    index_name text NOT NULL COLLATE pg_catalog."C",
    namespace text NOT NULL COLLATE pg_catalog."C",
    display_name text NOT NULL,
    question text NOT NULL,
    mode text NOT NULL COLLATE pg_catalog."C",
    min_score double precision NOT NULL,
    filter json NOT NULL,
    subject text NOT NULL COLLATE pg_catalog."C",
    access json NOT NULL,
    embedding real[],
    embedded_by text NOT NULL,
    ended_reason text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    paused boolean DEFAULT false NOT NULL
);

CREATE TABLE ragd_shared.asked_questions (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    index_id bigint NOT NULL,
    slot smallint NOT NULL,
    generation integer NOT NULL,
    embedding real[] NOT NULL,
    asked_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.chunk_changes (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    index_id bigint NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    number bigint NOT NULL,
    chunks bigint NOT NULL,
    written bigint NOT NULL,
    documents uuid[],
    namespace text COLLATE pg_catalog."C",
    chunk_ids text[],
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ragd_shared.chunk_changes ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ragd_shared.chunk_changes_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE ragd_shared.connector_items (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    connector_name text NOT NULL COLLATE pg_catalog."C",
    item_id text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    has_document boolean NOT NULL,
    state json NOT NULL,
    seen_run bigint NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT connector_items_status_check CHECK ((status = ANY (ARRAY['stored'::text, 'skipped'::text, 'failed'::text])))
);

CREATE TABLE ragd_shared.connector_tokens (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    connector_name text NOT NULL COLLATE pg_catalog."C",
    token bytea,
    renewing_until timestamp with time zone,
    pending bytea,
    pending_until timestamp with time zone,
    state_hash bytea
);

CREATE TABLE ragd_shared.connectors (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    connector_name text NOT NULL COLLATE pg_catalog."C",
    index_name text NOT NULL COLLATE pg_catalog."C",
    namespace text NOT NULL COLLATE pg_catalog."C",
    definition json NOT NULL,
    access json NOT NULL,
    index_id bigint DEFAULT 0 NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    paused_reason text DEFAULT ''::text NOT NULL,
    accept_deletions boolean DEFAULT false NOT NULL,
    source_state json DEFAULT '{}'::json NOT NULL,
    run bigint DEFAULT 0 NOT NULL,
    status text DEFAULT ''::text NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    counts json DEFAULT '{}'::json NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    next_run_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    follower text DEFAULT ''::text NOT NULL,
    followed_until timestamp with time zone,
    needs_authorization boolean DEFAULT false NOT NULL,
    offers json DEFAULT '{}'::json NOT NULL,
    runs jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT connectors_status_check CHECK ((status = ANY (ARRAY[''::text, 'running'::text, 'succeeded'::text, 'failed'::text])))
);

CREATE TABLE ragd_shared.context_keys (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    key_name text NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL,
    schema jsonb,
    fallback jsonb,
    secret boolean NOT NULL,
    source text NOT NULL,
    source_name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.deleted_documents (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    document_id uuid NOT NULL,
    index_id bigint NOT NULL,
    generation integer NOT NULL,
    text_analysis integer NOT NULL,
    document jsonb NOT NULL,
    deleted_by text NOT NULL,
    deleted_at timestamp with time zone DEFAULT now() NOT NULL,
    superseded boolean DEFAULT false NOT NULL
);

CREATE TABLE ragd_shared.endpoints (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    endpoint_name text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    base_url text NOT NULL,
    secret bytea,
    has_api_key boolean NOT NULL,
    header_names text[] NOT NULL,
    max_concurrent_calls integer NOT NULL,
    requests_per_second double precision NOT NULL,
    timeout_ms integer NOT NULL,
    models jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.evaluation_results (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    evaluation_id uuid NOT NULL,
    batch integer NOT NULL,
    result_count integer NOT NULL,
    results jsonb NOT NULL
);

CREATE TABLE ragd_shared.evaluations (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    evaluation_id uuid NOT NULL,
    set_name text NOT NULL COLLATE pg_catalog."C",
    index_name text NOT NULL,
    access text NOT NULL,
    settings jsonb NOT NULL,
    delegation jsonb,
    question_count integer NOT NULL,
    job_id uuid NOT NULL,
    estimates jsonb,
    usage jsonb DEFAULT '{}'::jsonb NOT NULL,
    unanswerable integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    tuning_outcome jsonb
);

CREATE TABLE ragd_shared.event_watchers (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    watcher_id uuid NOT NULL,
    topics text[] NOT NULL,
    until timestamp with time zone NOT NULL
);

CREATE TABLE ragd_shared.events (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    number bigint NOT NULL,
    event_id uuid DEFAULT gen_random_uuid() NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    index_name text DEFAULT ''::text NOT NULL,
    document_id uuid,
    job_id uuid,
    tool_name text DEFAULT ''::text NOT NULL,
    subject text DEFAULT ''::text NOT NULL,
    data jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ragd_shared.events ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ragd_shared.events_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE ragd_shared.feedback (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    set_name text NOT NULL COLLATE pg_catalog."C",
    question_id text NOT NULL COLLATE pg_catalog."C",
    uri text NOT NULL COLLATE pg_catalog."C",
    start_byte bigint NOT NULL,
    end_byte bigint NOT NULL,
    caller_hash bytea NOT NULL,
    helpful boolean NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.file_batches (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    batch_id text NOT NULL COLLATE pg_catalog."C",
    index_name text NOT NULL COLLATE pg_catalog."C",
    file_ids text[] NOT NULL,
    errors jsonb NOT NULL,
    cancelled boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.file_contents (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    file_id text NOT NULL COLLATE pg_catalog."C",
    segment integer NOT NULL,
    content bytea NOT NULL
);
ALTER TABLE ONLY ragd_shared.file_contents ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE ragd_shared.hook_deliveries (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    delivery_id uuid DEFAULT gen_random_uuid() NOT NULL,
    hook_name text NOT NULL COLLATE pg_catalog."C",
    xid xid8 NOT NULL,
    number bigint NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now() NOT NULL,
    attempted_at timestamp with time zone,
    duration_ms integer DEFAULT 0 NOT NULL,
    status_code integer DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    response text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT hook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text])))
);

CREATE TABLE ragd_shared.hooks (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    hook_name text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL,
    description text NOT NULL,
    events text[] NOT NULL,
    topics text[] NOT NULL,
    tools text[] NOT NULL,
    indexes text[] NOT NULL,
    headers jsonb NOT NULL,
    include_content boolean NOT NULL,
    max_payload_bytes integer NOT NULL,
    secret bytea NOT NULL,
    previous_secret bytea,
    previous_expires_at timestamp with time zone,
    enabled boolean NOT NULL,
    disabled_reason text DEFAULT ''::text NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    next_attempt_at timestamp with time zone DEFAULT now() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.mcp_messages (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    session_hash bytea NOT NULL,
    message_id bigint NOT NULL,
    addressee text NOT NULL,
    kind text NOT NULL,
    stream text NOT NULL,
    number bigint NOT NULL,
    body bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ragd_shared.mcp_messages ALTER COLUMN message_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ragd_shared.mcp_messages_message_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE ragd_shared.mcp_sessions (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    session_hash bytea NOT NULL,
    owner_hash bytea NOT NULL,
    client json NOT NULL,
    log_level text DEFAULT ''::text NOT NULL,
    subscriptions text[] DEFAULT '{}'::text[] NOT NULL,
    notifier text NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    used_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.notable_questions (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    index_id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    namespace text NOT NULL COLLATE pg_catalog."C",
    question_id text NOT NULL COLLATE pg_catalog."C",
    question text NOT NULL,
    asked bigint NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    best_score double precision,
    slowest double precision NOT NULL,
    code text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE ragd_shared.prompts (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    prompt_name text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    version_name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    definition jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.question_sets (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    set_name text NOT NULL COLLATE pg_catalog."C",
    index_name text NOT NULL,
    description text NOT NULL,
    access text NOT NULL,
    question_count integer DEFAULT 0 NOT NULL,
    drafted_count integer DEFAULT 0 NOT NULL,
    byte_size bigint DEFAULT 0 NOT NULL,
    draft jsonb,
    draft_job_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.questions (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    set_name text NOT NULL COLLATE pg_catalog."C",
    question_id text NOT NULL COLLATE pg_catalog."C",
    question jsonb NOT NULL,
    byte_size integer NOT NULL,
    drafted boolean NOT NULL
);

CREATE TABLE ragd_shared.quota_warnings (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    quota text NOT NULL COLLATE pg_catalog."C",
    period text NOT NULL,
    quota_limit bigint NOT NULL,
    warned_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.schema_migrations (
    version bigint NOT NULL,
    dirty boolean NOT NULL
);

CREATE TABLE ragd_shared.secrets (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    secret_name text NOT NULL COLLATE pg_catalog."C",
    value bytea NOT NULL,
    hosts text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.servers (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    server_name text NOT NULL COLLATE pg_catalog."C",
    definition jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.stopped_tenants (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE ragd_shared.tool_policies (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    policy_name text NOT NULL COLLATE pg_catalog."C",
    definition jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.tool_tasks (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    task_id uuid NOT NULL,
    owner_hash bytea NOT NULL,
    tool_name text NOT NULL,
    status text NOT NULL,
    message text DEFAULT ''::text NOT NULL,
    asked json DEFAULT '{}'::json NOT NULL,
    answers json DEFAULT '{}'::json NOT NULL,
    outcome json,
    cancelled boolean DEFAULT false NOT NULL,
    alive_at timestamp with time zone DEFAULT now() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT tool_tasks_status_check CHECK ((status = ANY (ARRAY['working'::text, 'input_required'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
);

CREATE TABLE ragd_shared.tools (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    tool_name text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    title text NOT NULL,
    description text NOT NULL,
    settings jsonb NOT NULL,
    arguments text[] NOT NULL,
    fixed boolean NOT NULL,
    annotations jsonb DEFAULT '{}'::jsonb NOT NULL,
    meta jsonb,
    output_schema jsonb,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.vector_store_files (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    file_id text NOT NULL COLLATE pg_catalog."C",
    index_name text NOT NULL COLLATE pg_catalog."C",
    file_name text NOT NULL,
    chunking jsonb NOT NULL,
    refused jsonb,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE ragd_shared.vector_stores (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    index_name text NOT NULL COLLATE pg_catalog."C",
    store_name text NOT NULL,
    metadata jsonb NOT NULL
);

CREATE TABLE ragd_shared.watched_indexes (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    index_id bigint NOT NULL,
    until timestamp with time zone NOT NULL
);

CREATE TABLE ragd_shared.workflow_runs (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    run_id uuid NOT NULL,
    workflow_name text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    status text NOT NULL,
    subject text NOT NULL COLLATE pg_catalog."C",
    access json NOT NULL,
    input json NOT NULL,
    output json,
    error text DEFAULT ''::text NOT NULL,
    error_kind text DEFAULT ''::text NOT NULL,
    changes bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT workflow_runs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'waiting'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text])))
);

CREATE TABLE ragd_shared.workflow_steps (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    run_id uuid NOT NULL,
    path text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    status text NOT NULL,
    change bigint NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    version integer DEFAULT 0 NOT NULL,
    input json,
    output json,
    message text DEFAULT ''::text NOT NULL,
    schema json,
    error text DEFAULT ''::text NOT NULL,
    error_kind text DEFAULT ''::text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    wait_until timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT workflow_steps_status_check CHECK ((status = ANY (ARRAY['running'::text, 'waiting'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text])))
);

CREATE TABLE ragd_shared.workflows (
    tenant_id text DEFAULT ragd_shared.current_tenant() NOT NULL COLLATE pg_catalog."C",
    workflow_name text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    tool_name text GENERATED ALWAYS AS (('run_'::text || workflow_name)) STORED NOT NULL,
    definition json NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY ragd_shared.agent_threads
    ADD CONSTRAINT agent_threads_pkey PRIMARY KEY (tenant_id, agent_name, subject, thread_id);

ALTER TABLE ONLY ragd_shared.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (tenant_id, agent_name);

ALTER TABLE ONLY ragd_shared.alert_matches
    ADD CONSTRAINT alert_matches_pkey PRIMARY KEY (tenant_id, alert_id, document_id, passage);

ALTER TABLE ONLY ragd_shared.alerts
    ADD CONSTRAINT alerts_pkey PRIMARY KEY (tenant_id, alert_id);

ALTER TABLE ONLY ragd_shared.asked_questions
    ADD CONSTRAINT asked_questions_pkey PRIMARY KEY (tenant_id, index_id, slot);

ALTER TABLE ONLY ragd_shared.chunk_changes
    ADD CONSTRAINT chunk_changes_pkey PRIMARY KEY (tenant_id, index_id, xid, number);

ALTER TABLE ONLY ragd_shared.connector_items
    ADD CONSTRAINT connector_items_pkey PRIMARY KEY (tenant_id, connector_name, item_id);

ALTER TABLE ONLY ragd_shared.connector_tokens
    ADD CONSTRAINT connector_tokens_pkey PRIMARY KEY (tenant_id, connector_name);

ALTER TABLE ONLY ragd_shared.connectors
    ADD CONSTRAINT connectors_pkey PRIMARY KEY (tenant_id, connector_name);

ALTER TABLE ONLY ragd_shared.context_keys
    ADD CONSTRAINT context_keys_pkey PRIMARY KEY (tenant_id, key_name);

ALTER TABLE ONLY ragd_shared.deleted_documents
    ADD CONSTRAINT deleted_documents_pkey PRIMARY KEY (tenant_id, document_id);

ALTER TABLE ONLY ragd_shared.endpoints
    ADD CONSTRAINT endpoints_pkey PRIMARY KEY (tenant_id, endpoint_name);

ALTER TABLE ONLY ragd_shared.evaluation_results
    ADD CONSTRAINT evaluation_results_pkey PRIMARY KEY (tenant_id, evaluation_id, batch);

ALTER TABLE ONLY ragd_shared.evaluations
    ADD CONSTRAINT evaluations_pkey PRIMARY KEY (tenant_id, evaluation_id);

ALTER TABLE ONLY ragd_shared.event_watchers
    ADD CONSTRAINT event_watchers_pkey PRIMARY KEY (tenant_id, watcher_id);

ALTER TABLE ONLY ragd_shared.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (tenant_id, xid, number);

ALTER TABLE ONLY ragd_shared.feedback
    ADD CONSTRAINT feedback_pkey PRIMARY KEY (tenant_id, set_name, question_id, uri, start_byte, end_byte, caller_hash);

ALTER TABLE ONLY ragd_shared.file_batches
    ADD CONSTRAINT file_batches_pkey PRIMARY KEY (tenant_id, batch_id);

ALTER TABLE ONLY ragd_shared.file_contents
    ADD CONSTRAINT file_contents_pkey PRIMARY KEY (tenant_id, file_id, segment);

ALTER TABLE ONLY ragd_shared.files
    ADD CONSTRAINT files_pkey PRIMARY KEY (tenant_id, file_id);

ALTER TABLE ONLY ragd_shared.hook_deliveries
    ADD CONSTRAINT hook_deliveries_pkey PRIMARY KEY (tenant_id, delivery_id);

ALTER TABLE ONLY ragd_shared.hooks
    ADD CONSTRAINT hooks_pkey PRIMARY KEY (tenant_id, hook_name);

ALTER TABLE ONLY ragd_shared.mcp_messages
    ADD CONSTRAINT mcp_messages_pkey PRIMARY KEY (tenant_id, session_hash, message_id);

ALTER TABLE ONLY ragd_shared.mcp_sessions
    ADD CONSTRAINT mcp_sessions_pkey PRIMARY KEY (tenant_id, session_hash);

ALTER TABLE ONLY ragd_shared.notable_questions
    ADD CONSTRAINT notable_questions_pkey PRIMARY KEY (tenant_id, index_id, kind, namespace, question_id);

ALTER TABLE ONLY ragd_shared.prompts
    ADD CONSTRAINT prompts_pkey PRIMARY KEY (tenant_id, prompt_name, version);

ALTER TABLE ONLY ragd_shared.question_sets
    ADD CONSTRAINT question_sets_pkey PRIMARY KEY (tenant_id, set_name);

ALTER TABLE ONLY ragd_shared.questions
    ADD CONSTRAINT questions_pkey PRIMARY KEY (tenant_id, set_name, question_id);

ALTER TABLE ONLY ragd_shared.quota_warnings
    ADD CONSTRAINT quota_warnings_pkey PRIMARY KEY (tenant_id, quota);

ALTER TABLE ONLY ragd_shared.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (tenant_id, secret_name);

ALTER TABLE ONLY ragd_shared.servers
    ADD CONSTRAINT servers_pkey PRIMARY KEY (tenant_id, server_name);

ALTER TABLE ONLY ragd_shared.stopped_tenants
    ADD CONSTRAINT stopped_tenants_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY ragd_shared.tool_policies
    ADD CONSTRAINT tool_policies_pkey PRIMARY KEY (tenant_id, policy_name);

ALTER TABLE ONLY ragd_shared.tool_tasks
    ADD CONSTRAINT tool_tasks_pkey PRIMARY KEY (tenant_id, task_id);

ALTER TABLE ONLY ragd_shared.tools
    ADD CONSTRAINT tools_pkey PRIMARY KEY (tenant_id, tool_name);

ALTER TABLE ONLY ragd_shared.vector_store_files
    ADD CONSTRAINT vector_store_files_pkey PRIMARY KEY (tenant_id, file_id, index_name);

ALTER TABLE ONLY ragd_shared.vector_stores
    ADD CONSTRAINT vector_stores_pkey PRIMARY KEY (tenant_id, index_name);

ALTER TABLE ONLY ragd_shared.watched_indexes
    ADD CONSTRAINT watched_indexes_pkey PRIMARY KEY (tenant_id, index_id);

ALTER TABLE ONLY ragd_shared.workflow_runs
    ADD CONSTRAINT workflow_runs_pkey PRIMARY KEY (tenant_id, run_id);

ALTER TABLE ONLY ragd_shared.workflow_steps
    ADD CONSTRAINT workflow_steps_pkey PRIMARY KEY (tenant_id, run_id, path);

ALTER TABLE ONLY ragd_shared.workflows
    ADD CONSTRAINT workflows_pkey PRIMARY KEY (tenant_id, workflow_name, version);

CREATE INDEX alert_matches_newest ON ragd_shared.alert_matches USING btree (tenant_id, alert_id, match_id DESC);

CREATE INDEX alerts_newest ON ragd_shared.alerts USING btree (tenant_id, created_at DESC, alert_id DESC);

CREATE INDEX alerts_of_index ON ragd_shared.alerts USING btree (tenant_id, index_id);

CREATE INDEX deleted_documents_newest ON ragd_shared.deleted_documents USING btree (tenant_id, index_id, deleted_at, document_id);

CREATE INDEX evaluations_newest ON ragd_shared.evaluations USING btree (tenant_id, created_at DESC, evaluation_id DESC);

CREATE INDEX evaluations_of_set ON ragd_shared.evaluations USING btree (tenant_id, set_name);

CREATE INDEX file_batches_in_order ON ragd_shared.file_batches USING btree (tenant_id, created_at, batch_id);

CREATE INDEX file_batches_of_index ON ragd_shared.file_batches USING btree (tenant_id, index_name);

CREATE INDEX files_in_order ON ragd_shared.files USING btree (tenant_id, created_at, file_id);

CREATE INDEX hook_deliveries_due ON ragd_shared.hook_deliveries USING btree (tenant_id, hook_name, next_attempt_at) WHERE (status = 'pending'::text);

CREATE INDEX hook_deliveries_newest ON ragd_shared.hook_deliveries USING btree (tenant_id, hook_name, created_at DESC, delivery_id DESC);

CREATE INDEX hook_deliveries_of_event ON ragd_shared.hook_deliveries USING btree (tenant_id, xid, number);

CREATE INDEX mcp_sessions_tenant_id_used_at_idx ON ragd_shared.mcp_sessions USING btree (tenant_id, used_at);

CREATE INDEX tool_tasks_tenant_id_created_at_idx ON ragd_shared.tool_tasks USING btree (tenant_id, created_at);

CREATE INDEX vector_store_files_of_index ON ragd_shared.vector_store_files USING btree (tenant_id, index_name);

CREATE INDEX vector_store_files_refused ON ragd_shared.vector_store_files USING btree (tenant_id, index_name, created_at, file_id) WHERE (refused IS NOT NULL);

CREATE INDEX workflow_runs_created ON ragd_shared.workflow_runs USING btree (tenant_id, created_at DESC, run_id DESC);

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON ragd_shared.agents FOR EACH ROW EXECUTE FUNCTION ragd_shared.announce('tool', 'tool_name');

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON ragd_shared.context_keys FOR EACH ROW EXECUTE FUNCTION ragd_shared.announce('context', 'key_name');

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE OF url, description, events, tools, indexes, headers, include_content, max_payload_bytes, secret, enabled ON ragd_shared.hooks FOR EACH ROW EXECUTE FUNCTION ragd_shared.announce('hook', 'hook_name');

CREATE TRIGGER changed AFTER DELETE OR UPDATE OF version ON ragd_shared.mcp_sessions FOR EACH ROW EXECUTE FUNCTION ragd_shared.mcp_session_changed();

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON ragd_shared.prompts FOR EACH ROW EXECUTE FUNCTION ragd_shared.announce('prompt', 'prompt_name');

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON ragd_shared.servers FOR EACH ROW EXECUTE FUNCTION ragd_shared.announce('server', 'server_name');

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON ragd_shared.tool_policies FOR EACH ROW EXECUTE FUNCTION ragd_shared.announce('policy', 'policy_name');

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON ragd_shared.tools FOR EACH ROW EXECUTE FUNCTION ragd_shared.announce('tool', 'tool_name', '{settings,indexName}');

CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON ragd_shared.workflows FOR EACH ROW EXECUTE FUNCTION ragd_shared.announce('tool', 'tool_name');

CREATE TRIGGER inserted AFTER INSERT ON ragd_shared.events REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.deliver_events();

CREATE TRIGGER offers_changed AFTER DELETE OR UPDATE OF offers ON ragd_shared.connectors FOR EACH ROW EXECUTE FUNCTION ragd_shared.offers_changed();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.agent_threads FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.agents FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.alert_matches FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.alerts FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.asked_questions FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.chunk_changes FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.connector_items FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.connector_tokens FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.connectors FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.context_keys FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.deleted_documents FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.endpoints FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.evaluation_results FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.evaluations FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.event_watchers FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.events FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.feedback FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.file_batches FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.file_contents FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.files FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.hook_deliveries FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.hooks FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.mcp_messages FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.mcp_sessions FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.notable_questions FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.prompts FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.question_sets FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.questions FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.quota_warnings FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.secrets FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.servers FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.tool_policies FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.tool_tasks FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.tools FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.vector_store_files FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.vector_stores FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.watched_indexes FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.workflow_runs FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.workflow_steps FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER refuse_stopped BEFORE INSERT OR DELETE OR UPDATE ON ragd_shared.workflows FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.refuse_stopped();

CREATE TRIGGER sent AFTER INSERT ON ragd_shared.mcp_messages FOR EACH ROW EXECUTE FUNCTION ragd_shared.mcp_message_sent();

ALTER TABLE ONLY ragd_shared.agent_threads
    ADD CONSTRAINT agent_threads_tenant_id_agent_name_fkey FOREIGN KEY (tenant_id, agent_name) REFERENCES ragd_shared.agents(tenant_id, agent_name) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.agent_threads
    ADD CONSTRAINT agent_threads_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.agents
    ADD CONSTRAINT agents_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.alert_matches
    ADD CONSTRAINT alert_matches_tenant_id_alert_id_fkey FOREIGN KEY (tenant_id, alert_id) REFERENCES ragd_shared.alerts(tenant_id, alert_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.alert_matches
    ADD CONSTRAINT alert_matches_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.alerts
    ADD CONSTRAINT alerts_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.asked_questions
    ADD CONSTRAINT asked_questions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.chunk_changes
    ADD CONSTRAINT chunk_changes_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.connector_items
    ADD CONSTRAINT connector_items_tenant_id_connector_name_fkey FOREIGN KEY (tenant_id, connector_name) REFERENCES ragd_shared.connectors(tenant_id, connector_name) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.connector_items
    ADD CONSTRAINT connector_items_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.connector_tokens
    ADD CONSTRAINT connector_tokens_tenant_id_connector_name_fkey FOREIGN KEY (tenant_id, connector_name) REFERENCES ragd_shared.connectors(tenant_id, connector_name) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.connector_tokens
    ADD CONSTRAINT connector_tokens_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.connectors
    ADD CONSTRAINT connectors_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.context_keys
    ADD CONSTRAINT context_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.deleted_documents
    ADD CONSTRAINT deleted_documents_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.endpoints
    ADD CONSTRAINT endpoints_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.evaluation_results
    ADD CONSTRAINT evaluation_results_tenant_id_evaluation_id_fkey FOREIGN KEY (tenant_id, evaluation_id) REFERENCES ragd_shared.evaluations(tenant_id, evaluation_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.evaluation_results
    ADD CONSTRAINT evaluation_results_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.evaluations
    ADD CONSTRAINT evaluations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.evaluations
    ADD CONSTRAINT evaluations_tenant_id_set_name_fkey FOREIGN KEY (tenant_id, set_name) REFERENCES ragd_shared.question_sets(tenant_id, set_name) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.event_watchers
    ADD CONSTRAINT event_watchers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.events
    ADD CONSTRAINT events_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.feedback
    ADD CONSTRAINT feedback_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.feedback
    ADD CONSTRAINT feedback_tenant_id_set_name_fkey FOREIGN KEY (tenant_id, set_name) REFERENCES ragd_shared.question_sets(tenant_id, set_name) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.file_batches
    ADD CONSTRAINT file_batches_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.file_contents
    ADD CONSTRAINT file_contents_tenant_id_file_id_fkey FOREIGN KEY (tenant_id, file_id) REFERENCES ragd_shared.files(tenant_id, file_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.file_contents
    ADD CONSTRAINT file_contents_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.files
    ADD CONSTRAINT files_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.hook_deliveries
    ADD CONSTRAINT hook_deliveries_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.hook_deliveries
    ADD CONSTRAINT hook_deliveries_tenant_id_hook_name_fkey FOREIGN KEY (tenant_id, hook_name) REFERENCES ragd_shared.hooks(tenant_id, hook_name) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.hook_deliveries
    ADD CONSTRAINT hook_deliveries_tenant_id_xid_number_fkey FOREIGN KEY (tenant_id, xid, number) REFERENCES ragd_shared.events(tenant_id, xid, number) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.hooks
    ADD CONSTRAINT hooks_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.mcp_messages
    ADD CONSTRAINT mcp_messages_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.mcp_messages
    ADD CONSTRAINT mcp_messages_tenant_id_session_hash_fkey FOREIGN KEY (tenant_id, session_hash) REFERENCES ragd_shared.mcp_sessions(tenant_id, session_hash) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.mcp_sessions
    ADD CONSTRAINT mcp_sessions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.notable_questions
    ADD CONSTRAINT notable_questions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.prompts
    ADD CONSTRAINT prompts_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.question_sets
    ADD CONSTRAINT question_sets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.questions
    ADD CONSTRAINT questions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.questions
    ADD CONSTRAINT questions_tenant_id_set_name_fkey FOREIGN KEY (tenant_id, set_name) REFERENCES ragd_shared.question_sets(tenant_id, set_name) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.quota_warnings
    ADD CONSTRAINT quota_warnings_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.secrets
    ADD CONSTRAINT secrets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.servers
    ADD CONSTRAINT servers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.stopped_tenants
    ADD CONSTRAINT stopped_tenants_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.tool_policies
    ADD CONSTRAINT tool_policies_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.tool_tasks
    ADD CONSTRAINT tool_tasks_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.tools
    ADD CONSTRAINT tools_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.vector_store_files
    ADD CONSTRAINT vector_store_files_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.vector_stores
    ADD CONSTRAINT vector_stores_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.watched_indexes
    ADD CONSTRAINT watched_indexes_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.workflow_runs
    ADD CONSTRAINT workflow_runs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.workflow_steps
    ADD CONSTRAINT workflow_steps_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.workflow_steps
    ADD CONSTRAINT workflow_steps_tenant_id_run_id_fkey FOREIGN KEY (tenant_id, run_id) REFERENCES ragd_shared.workflow_runs(tenant_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY ragd_shared.workflows
    ADD CONSTRAINT workflows_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES ragd.tenants(tenant_id) ON DELETE CASCADE;

ALTER TABLE ragd_shared.agent_threads ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.agents ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.alert_matches ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.alerts ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.asked_questions ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.chunk_changes ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.connector_items ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.connector_tokens ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.connectors ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.context_keys ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.deleted_documents ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.endpoints ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.evaluation_results ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.evaluations ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.event_watchers ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.events ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.feedback ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.file_batches ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.file_contents ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.files ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.hook_deliveries ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.hooks ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.mcp_messages ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.mcp_sessions ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.notable_questions ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_rows ON ragd_shared.agent_threads USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.agents USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.alert_matches USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.alerts USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.asked_questions USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.chunk_changes USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.connector_items USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.connector_tokens USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.connectors USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.context_keys USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.deleted_documents USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.endpoints USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.evaluation_results USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.evaluations USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.event_watchers USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.events USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.feedback USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.file_batches USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.file_contents USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.files USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.hook_deliveries USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.hooks USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.mcp_messages USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.mcp_sessions USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.notable_questions USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.prompts USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.question_sets USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.questions USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.quota_warnings USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.secrets USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.servers USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.stopped_tenants USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.tool_policies USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.tool_tasks USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.tools USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.vector_store_files USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.vector_stores USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.watched_indexes USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.workflow_runs USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.workflow_steps USING ((tenant_id = ragd_shared.current_tenant()));

CREATE POLICY own_rows ON ragd_shared.workflows USING ((tenant_id = ragd_shared.current_tenant()));

ALTER TABLE ragd_shared.prompts ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.question_sets ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.questions ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.quota_warnings ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.secrets ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.servers ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.stopped_tenants ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.tool_policies ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.tool_tasks ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.tools ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.vector_store_files ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.vector_stores ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.watched_indexes ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.workflow_runs ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.workflow_steps ENABLE ROW LEVEL SECURITY;

ALTER TABLE ragd_shared.workflows ENABLE ROW LEVEL SECURITY;
