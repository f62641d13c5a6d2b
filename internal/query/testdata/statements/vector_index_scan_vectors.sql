BEGIN;
SET LOCAL role = 'tenant_acme';
SET LOCAL statement_timeout = '20s';
SET LOCAL plan_cache_mode = 'force_generic_plan';
SET LOCAL enable_seqscan = 'off';
SET LOCAL enable_sort = 'off';
SET LOCAL hnsw.ef_search = '200';
SET LOCAL hnsw.iterative_scan = 'off';

WITH found AS (
	SELECT c.*, c.embedding <=> $2 AS rank_value
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.namespace = $1
	ORDER BY c.embedding <=> $2
	LIMIT 10
)
SELECT c.chunk_id, c.text, c.metadata, c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte, c.embedding AS embedding, rank_value
FROM found AS c
	LEFT JOIN "tenant_acme".documents AS d ON d.document_id = c.document_id
ORDER BY rank_value ASC, c.chunk_id

\bind 'default' '[1,0,0.5]' \g
COMMIT;
