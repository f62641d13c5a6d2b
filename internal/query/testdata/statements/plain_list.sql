BEGIN;
SET LOCAL role = 'tenant_acme';
SET LOCAL statement_timeout = '20s';
SET LOCAL plan_cache_mode = 'force_custom_plan';

WITH found AS (
	SELECT c.ctid AS tid, 0::float8 AS rank_value
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.namespace = $1 AND (c.metadata @> $2::jsonb AND (CASE WHEN jsonb_typeof((c.metadata -> $3::text)) = 'number' THEN (c.metadata -> $3::text)::numeric END) >= $4::numeric)
	ORDER BY c.chunk_id
	LIMIT 10
)
SELECT c.chunk_id, c.text, c.metadata, rank_value
FROM found JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = found.tid
ORDER BY rank_value ASC, c.chunk_id

\bind 'default' '{"lang":"en"}' 'year' '2020' \g
COMMIT;
