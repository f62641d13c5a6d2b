BEGIN;
SET LOCAL role = 'tenant_acme';
SET LOCAL statement_timeout = '20s';
SET LOCAL plan_cache_mode = 'force_generic_plan';
SET LOCAL enable_seqscan = 'off';
SET LOCAL enable_sort = 'off';
SET LOCAL hnsw.ef_search = '200';
SET LOCAL hnsw.iterative_scan = 'off';

WITH found AS (
	SELECT c.*, c.embedding <=> $5 AS rank_value
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.namespace = $1 AND (c.metadata @> $2::jsonb AND (CASE WHEN jsonb_typeof((c.metadata -> $3::text)) = 'number' THEN (c.metadata -> $3::text)::numeric END) >= $4::numeric)
	ORDER BY c.embedding <=> $5
	LIMIT 10
)
SELECT c.chunk_id, c.text, c.metadata, c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte, rank_value
FROM found AS c
	LEFT JOIN "tenant_acme".documents AS d ON d.document_id = c.document_id
ORDER BY rank_value ASC, c.chunk_id

\bind 'default' '{"lang":"en"}' 'year' '2020' '[1,0,0.5]' \g
COMMIT;
