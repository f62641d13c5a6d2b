BEGIN;
SET LOCAL role = 'tenant_acme';
SET LOCAL statement_timeout = '20s';
SET LOCAL plan_cache_mode = 'force_custom_plan';

WITH listed AS (
	SELECT c.ctid AS tid
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.namespace = $1 AND (c.metadata @> $2::jsonb AND (CASE WHEN jsonb_typeof((c.metadata -> $3::text)) = 'number' THEN (c.metadata -> $3::text)::numeric END) >= $4::numeric)
	ORDER BY CASE jsonb_typeof((c.metadata -> $5::text)) WHEN 'number' THEN 0 WHEN 'string' THEN CASE WHEN ragd_shared.instant(CASE WHEN jsonb_typeof((c.metadata -> $5::text)) = 'string' THEN (c.metadata ->> $5::text) END) IS NULL THEN 2 ELSE 1 END WHEN 'boolean' THEN 3 END DESC NULLS LAST, (CASE WHEN jsonb_typeof((c.metadata -> $5::text)) = 'number' THEN (c.metadata -> $5::text)::numeric END) DESC NULLS LAST, ragd_shared.instant(CASE WHEN jsonb_typeof((c.metadata -> $5::text)) = 'string' THEN (c.metadata ->> $5::text) END) DESC NULLS LAST, CASE WHEN jsonb_typeof((c.metadata -> $5::text)) IN ('string', 'boolean') THEN (c.metadata ->> $5::text) END COLLATE "C" DESC NULLS LAST,
		CASE jsonb_typeof((c.metadata #> $6::text[])) WHEN 'number' THEN 0 WHEN 'string' THEN CASE WHEN ragd_shared.instant(CASE WHEN jsonb_typeof((c.metadata #> $6::text[])) = 'string' THEN (c.metadata #>> $6::text[]) END) IS NULL THEN 2 ELSE 1 END WHEN 'boolean' THEN 3 END NULLS LAST, (CASE WHEN jsonb_typeof((c.metadata #> $6::text[])) = 'number' THEN (c.metadata #> $6::text[])::numeric END) NULLS LAST, ragd_shared.instant(CASE WHEN jsonb_typeof((c.metadata #> $6::text[])) = 'string' THEN (c.metadata #>> $6::text[]) END) NULLS LAST, CASE WHEN jsonb_typeof((c.metadata #> $6::text[])) IN ('string', 'boolean') THEN (c.metadata #>> $6::text[]) END COLLATE "C" NULLS LAST,
		c.chunk_id
	LIMIT 10
), found AS (
	SELECT tid, (row_number() OVER ())::float8 AS rank_value FROM listed
)
SELECT c.chunk_id, c.text, c.metadata, c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte, rank_value
FROM found JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = found.tid
	LEFT JOIN "tenant_acme".documents AS d ON d.document_id = c.document_id
ORDER BY rank_value ASC, c.chunk_id

\bind 'default' '{"lang":"en"}' 'year' '2020' 'published' '{"maker","name"}' \g
COMMIT;
