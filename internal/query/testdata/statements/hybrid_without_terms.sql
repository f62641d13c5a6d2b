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
		0::float8 AS keyword,
		0::float8 AS adjacent
	FROM candidate JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = candidate.tid
), found AS (
	SELECT tid, keyword, adjacent, distance,
		CASE WHEN distance <> 'NaN' THEN $3::float8 * (atanh(least(greatest(1 - distance, -0.999), 0.999)) - $4::float8) ELSE 0 END AS rank_value
	FROM scored
	ORDER BY rank_value DESC, chunk_id
	LIMIT 10
)
SELECT c.chunk_id, c.text, c.metadata, c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte, found.keyword, found.adjacent, found.distance, rank_value
FROM found JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = found.tid
	LEFT JOIN "tenant_acme".documents AS d ON d.document_id = c.document_id
ORDER BY rank_value DESC, c.chunk_id

\bind 'default' '[1,0,0.5]' '7.272727272727273' '0.05' \g
COMMIT;
