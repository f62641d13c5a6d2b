BEGIN;
SET LOCAL role = 'tenant_acme';
SET LOCAL statement_timeout = '20s';
SET LOCAL plan_cache_mode = 'force_custom_plan';

WITH listed AS (
	SELECT c.ctid AS tid
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.terms @@ $2::text::tsquery AND c.namespace = $1
	ORDER BY CASE jsonb_typeof((c.metadata -> $3::text)) WHEN 'number' THEN 0 WHEN 'string' THEN CASE WHEN ragd_shared.instant(CASE WHEN jsonb_typeof((c.metadata -> $3::text)) = 'string' THEN (c.metadata ->> $3::text) END) IS NULL THEN 2 ELSE 1 END WHEN 'boolean' THEN 3 END DESC NULLS LAST, (CASE WHEN jsonb_typeof((c.metadata -> $3::text)) = 'number' THEN (c.metadata -> $3::text)::numeric END) DESC NULLS LAST, ragd_shared.instant(CASE WHEN jsonb_typeof((c.metadata -> $3::text)) = 'string' THEN (c.metadata ->> $3::text) END) DESC NULLS LAST, CASE WHEN jsonb_typeof((c.metadata -> $3::text)) IN ('string', 'boolean') THEN (c.metadata ->> $3::text) END COLLATE "C" DESC NULLS LAST,
		CASE jsonb_typeof((c.metadata #> $4::text[])) WHEN 'number' THEN 0 WHEN 'string' THEN CASE WHEN ragd_shared.instant(CASE WHEN jsonb_typeof((c.metadata #> $4::text[])) = 'string' THEN (c.metadata #>> $4::text[]) END) IS NULL THEN 2 ELSE 1 END WHEN 'boolean' THEN 3 END NULLS LAST, (CASE WHEN jsonb_typeof((c.metadata #> $4::text[])) = 'number' THEN (c.metadata #> $4::text[])::numeric END) NULLS LAST, ragd_shared.instant(CASE WHEN jsonb_typeof((c.metadata #> $4::text[])) = 'string' THEN (c.metadata #>> $4::text[]) END) NULLS LAST, CASE WHEN jsonb_typeof((c.metadata #> $4::text[])) IN ('string', 'boolean') THEN (c.metadata #>> $4::text[]) END COLLATE "C" NULLS LAST,
		c.chunk_id
	LIMIT 10
), found AS (
	SELECT tid, (row_number() OVER ())::float8 AS rank_value FROM listed
)
SELECT c.chunk_id, c.text, c.metadata, c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte, rank_value
FROM found JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = found.tid
	LEFT JOIN "tenant_acme".documents AS d ON d.document_id = c.document_id
ORDER BY rank_value ASC, c.chunk_id

\bind 'default' '\'walk\' | \'graph\'' 'published' '{"maker","name"}' \g
COMMIT;
