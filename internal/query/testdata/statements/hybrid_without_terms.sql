BEGIN;
SET LOCAL role = 'tenant_acme';
SET LOCAL statement_timeout = '20s';
SET LOCAL enable_seqscan = 'off';
SET LOCAL enable_sort = 'off';
SET LOCAL hnsw.ef_search = '200';
SET LOCAL hnsw.iterative_scan = 'off';

WITH candidate AS (
	SELECT c.ctid AS tid, c.embedding <=> $2 AS rank_value
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.namespace = $1
	ORDER BY c.embedding <=> $2
	LIMIT 50
), scored AS (
	SELECT candidate.tid, c.chunk_id, c.document_id, c.embedding <=> $2 AS distance,
		0::float8 AS keyword
	FROM candidate JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = candidate.tid
), found AS (
	SELECT tid,
		1::float8 * coalesce(
			(max(nullif(distance, 'NaN')) OVER () - nullif(distance, 'NaN')) / nullif(max(nullif(distance, 'NaN')) OVER () - min(nullif(distance, 'NaN')) OVER (), 0),
			CASE WHEN nullif(distance, 'NaN') IS NULL THEN 0 ELSE 1 END)
		+ 0::float8 * coalesce(keyword / nullif(max(keyword) OVER (), 0), 0) AS rank_value
	FROM scored
	ORDER BY rank_value DESC, chunk_id
	LIMIT 10
)
SELECT c.chunk_id, c.text, c.metadata, c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte, rank_value
FROM found JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = found.tid
	LEFT JOIN "tenant_acme".documents AS d ON d.document_id = c.document_id
ORDER BY rank_value DESC, c.chunk_id

\bind 'default' '[1,0,0.5]' \g
COMMIT;
