BEGIN;
SET LOCAL role = 'tenant_acme';
SET LOCAL statement_timeout = '20s';
SET LOCAL plan_cache_mode = 'force_custom_plan';
SET LOCAL enable_seqscan = 'off';
SET LOCAL enable_sort = 'off';
SET LOCAL hnsw.ef_search = '200';
SET LOCAL hnsw.iterative_scan = 'off';

WITH near AS (
	SELECT c.ctid AS tid, c.embedding <=> $2 AS rank_value
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.namespace = $1
	ORDER BY c.embedding <=> $2
	LIMIT 50
), heavy AS (
	SELECT c.ctid AS tid
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.terms @@ $5::text::tsquery AND c.namespace = $1 AND c.embedding <=> $2 < $4::float8
	ORDER BY c.term_weights <#> $3, c.chunk_id
	LIMIT 50
), candidate AS (
	SELECT tid FROM near UNION SELECT tid FROM heavy
), scored AS (
	SELECT candidate.tid, c.chunk_id, c.document_id, c.embedding <=> $2 AS distance,
		coalesce(-(c.term_weights <#> $3), 0) AS keyword,
		0::float8 AS adjacent
	FROM candidate JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = candidate.tid
), found AS (
	SELECT tid, keyword, adjacent, distance,
		CASE WHEN distance <> 'NaN' THEN $6::float8 * (atanh(least(greatest(1 - distance, -0.999), 0.999)) - $7::float8) ELSE 0 END
		+ $8::float8 * (keyword + adjacent)
		+ $11::float8 * (greatest(($9::float8 * (keyword + adjacent) - $10::float8), 0) + ln(1 + exp(-least(abs(($9::float8 * (keyword + adjacent) - $10::float8)), 30)))) AS rank_value
	FROM scored WHERE true AND distance < $12::float8
	ORDER BY rank_value DESC, chunk_id
	LIMIT 10
)
SELECT c.chunk_id, c.text, c.metadata, c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte, found.keyword, found.adjacent, found.distance, rank_value
FROM found JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = found.tid
	LEFT JOIN "tenant_acme".documents AS d ON d.document_id = c.document_id
ORDER BY rank_value DESC, c.chunk_id

\bind 'default' '[1,0,0.5]' '{5:4.016848,11:7.1184964}/1000000000' '0.6' '\'walk\' | \'graph\'' '3.352276454217572' '0.05' '0.5120932358071887' '0.9499709637091788' '8.4' '1.8437520498196642' '0.6' \g
COMMIT;
