-- events are what happened to a tenant lately, for its hooks and for callers that watch. They
-- are written in the transaction that they tell of, and only if somebody wants them
-- (event_wanted).
CREATE TABLE events (
	tenant_id   text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	xid         xid8 NOT NULL DEFAULT pg_current_xact_id(), -- with a snapshot it tells what a watcher has seen
	number      bigint GENERATED ALWAYS AS IDENTITY,
	event_id    uuid NOT NULL DEFAULT gen_random_uuid(),
	type        text COLLATE "C" NOT NULL,
	index_name  text NOT NULL DEFAULT '',
	document_id uuid,
	job_id      uuid,
	tool_name   text NOT NULL DEFAULT '',
	subject     text NOT NULL DEFAULT '', -- of the caller of a tool
	data        jsonb NOT NULL,
	created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (tenant_id, xid, number)
);

ALTER TABLE events ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON events USING (tenant_id = current_tenant());

-- event_watchers are callers that watch events now. An instance extends the time of its own
-- watchers; those of a dead one end.
CREATE TABLE event_watchers (
	tenant_id  text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	watcher_id uuid NOT NULL,
	topics     text[] NOT NULL, -- the types of events without what follows the dot, or *
	until      timestamptz NOT NULL,
	PRIMARY KEY (tenant_id, watcher_id)
);

ALTER TABLE event_watchers ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON event_watchers USING (tenant_id = current_tenant());

-- hooks are addresses to which events are posted.
CREATE TABLE hooks (
	tenant_id           text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	hook_name           text COLLATE "C",
	url                 text NOT NULL,
	description         text NOT NULL,
	events              text[] NOT NULL, -- types of events, document.* or *
	topics              text[] NOT NULL, -- of events, as in event_watchers
	tools               text[] NOT NULL, -- empty: all
	indexes             text[] NOT NULL, -- empty: all
	headers             jsonb NOT NULL,  -- texts that may name secrets
	include_content     boolean NOT NULL,
	max_payload_bytes   int NOT NULL,
	secret              bytea NOT NULL,  -- of the signatures, encrypted for this row by package seal
	previous_secret     bytea,           -- the one before it, likewise
	previous_expires_at timestamptz,
	enabled             boolean NOT NULL,
	disabled_reason     text NOT NULL DEFAULT '', -- why the service disabled it
	failures            int NOT NULL DEFAULT 0,   -- attempts since the last that succeeded
	failing_since       timestamptz,
	next_attempt_at     timestamptz NOT NULL DEFAULT now(),
	created_at          timestamptz NOT NULL DEFAULT now(),
	updated_at          timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, hook_name)
);

ALTER TABLE hooks ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON hooks USING (tenant_id = current_tenant());

-- How its deliveries go is no change of a hook.
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE OF url, description, events, tools, indexes, headers, include_content, max_payload_bytes, secret, enabled ON hooks
	FOR EACH ROW EXECUTE FUNCTION announce('hook', 'hook_name');

-- hook_deliveries are events that are or were posted to a hook. They go with their event.
CREATE TABLE hook_deliveries (
	tenant_id       text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	delivery_id     uuid NOT NULL DEFAULT gen_random_uuid(),
	hook_name       text COLLATE "C" NOT NULL,
	xid             xid8 NOT NULL,
	number          bigint NOT NULL,
	status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'succeeded', 'failed')),
	attempts        int NOT NULL DEFAULT 0,
	next_attempt_at timestamptz NOT NULL DEFAULT now(),
	attempted_at    timestamptz,
	duration_ms     int NOT NULL DEFAULT 0,  -- of the last attempt
	status_code     int NOT NULL DEFAULT 0,  -- that the last attempt was answered with; 0: no answer
	error           text NOT NULL DEFAULT '',
	response        text NOT NULL DEFAULT '', -- the beginning of the answer
	created_at      timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, delivery_id),
	FOREIGN KEY (tenant_id, hook_name) REFERENCES hooks ON DELETE CASCADE,
	FOREIGN KEY (tenant_id, xid, number) REFERENCES events ON DELETE CASCADE
);

CREATE INDEX hook_deliveries_of_event ON hook_deliveries (tenant_id, xid, number);
CREATE INDEX hook_deliveries_newest ON hook_deliveries (tenant_id, hook_name, created_at DESC, delivery_id DESC);
CREATE INDEX hook_deliveries_due ON hook_deliveries (tenant_id, hook_name, next_attempt_at) WHERE status = 'pending';

ALTER TABLE hook_deliveries ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON hook_deliveries USING (tenant_id = current_tenant());

-- event_wanted reports whether a hook or a watcher wants events of a topic. None are wanted
-- while a tenant is being deleted, which other roles do.
CREATE FUNCTION event_wanted(topic text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN ragd_shared.current_tenant() IS NOT NULL AND (
		EXISTS (SELECT FROM ragd_shared.hooks AS h WHERE h.enabled AND h.topics && ARRAY[topic, '*'])
		OR EXISTS (SELECT FROM ragd_shared.event_watchers AS w WHERE w.until > now() AND w.topics && ARRAY[topic, '*']));
END
$$;

-- The following write events, if they are wanted. Each is called by triggers of many tables,
-- which keep no plans of their own for it.

-- record_documents writes the events of documents that have become ready or have failed.
CREATE FUNCTION record_documents(schema name, documents uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF ragd_shared.event_wanted('document') THEN
		EXECUTE format('
			INSERT INTO ragd_shared.events (type, index_name, document_id, job_id, data)
			SELECT CASE d.status WHEN ''needs_ocr'' THEN ''document.failed'' ELSE ''document.'' || d.status END, i.index_name, d.document_id, d.job_id, ragd_shared.document_data(to_jsonb(d), i.index_name)
			FROM %1$I.documents AS d JOIN %1$I.indexes AS i USING (index_id) WHERE d.document_id = ANY($1)', schema) USING documents;
	END IF;
END
$$;

-- record_deleted writes the events of documents that were deleted by one statement: one for
-- each, but a single one if they are many. It writes none when their index is being deleted.
CREATE FUNCTION record_deleted(schema name, index_id bigint, documents jsonb) RETURNS void LANGUAGE plpgsql AS $$
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
$$;

-- document_data returns what events show of the row of a document.
CREATE FUNCTION document_data(d jsonb, index_name text) RETURNS jsonb LANGUAGE sql IMMUTABLE
RETURN jsonb_build_object('indexName', index_name, 'documentId', d -> 'document_id', 'uri', d -> 'uri', 'title', d -> 'title',
	'namespace', d -> 'namespace', 'contentType', d -> 'content_type', 'contentHash', d -> 'content_hash', 'version', d -> 'version', 'chunkCount', d -> 'chunk_count',
	'byteSize', d -> 'byte_size', 'metadata', d -> 'metadata', 'jobId', d -> 'job_id', 'error', d -> 'error');

-- record_jobs writes the events of jobs whose status has changed.
CREATE FUNCTION record_jobs(schema name, jobs uuid[]) RETURNS void LANGUAGE plpgsql AS $$
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
$$;

-- record_change writes the event of something with a name that was created, changed or
-- deleted. index_name is empty for what is over no index, operation is the TG_OP of the trigger.
CREATE FUNCTION record_change(kind text, name text, index_name text, operation text) RETURNS void LANGUAGE plpgsql AS $$
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

-- deliver_events makes the deliveries of new events to hooks, and announces the events.
CREATE FUNCTION deliver_events() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER inserted AFTER INSERT ON events REFERENCING NEW TABLE AS after
	FOR EACH STATEMENT EXECUTE FUNCTION deliver_events();
