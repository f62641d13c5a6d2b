BEGIN;
SET LOCAL role = 'tenant_acme';
SET LOCAL statement_timeout = '20s';
SET LOCAL plan_cache_mode = 'force_custom_plan';

WITH near AS (
	SELECT c.ctid AS tid, c.embedding <=> $5 AS rank_value
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.namespace = $1 AND (c.terms @@ $2::text::tsquery OR strpos(lower(c.title), lower($3::text)) > 0) AND NOT coalesce(c.terms @@ $4::text::tsquery, false)
	ORDER BY (c.embedding <=> $5) + 0, c.chunk_id
	LIMIT 50
), heavy AS (
	SELECT c.ctid AS tid
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.terms @@ $7::text::tsquery AND c.namespace = $1 AND (c.terms @@ $2::text::tsquery OR strpos(lower(c.title), lower($3::text)) > 0) AND NOT coalesce(c.terms @@ $4::text::tsquery, false)
	ORDER BY c.term_weights <#> $6, c.chunk_id
	LIMIT 50
), candidate AS (
	SELECT tid FROM near UNION SELECT tid FROM heavy
), scored AS (
	SELECT candidate.tid, c.chunk_id, c.document_id, c.embedding <=> $5 AS distance,
		coalesce(-(c.term_weights <#> $6), 0) AS keyword,
		0::float8 AS adjacent
	FROM candidate JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = candidate.tid
), found AS (
	SELECT tid, keyword, adjacent, distance,
		CASE WHEN distance <> 'NaN' THEN $8::float8 * (atanh(least(greatest(1 - distance, -0.999), 0.999)) - $9::float8) ELSE 0 END
		+ $10::float8 * (keyword + adjacent)
		+ $13::float8 * (greatest(($11::float8 * (keyword + adjacent) - $12::float8), 0) + ln(1 + exp(-least(abs(($11::float8 * (keyword + adjacent) - $12::float8)), 30)))) AS rank_value
	FROM scored
	ORDER BY rank_value DESC, chunk_id
	LIMIT 10
)
SELECT c.chunk_id, c.text, c.metadata, c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte, found.keyword, found.adjacent, found.distance, rank_value
FROM found JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = found.tid
	LEFT JOIN "tenant_acme".documents AS d ON d.document_id = c.document_id
ORDER BY rank_value DESC, c.chunk_id

\bind 'default' '\'crane\'' 'fees' '\'draft\'' '[1,0,0.5]' '{5:4.016848,11:7.1184964}/1000000000' '\'walk\' | \'graph\'' '3.352276454217572' '0.05' '0.5120932358071887' '0.9499709637091788' '8.4' '1.8437520498196642' \g
COMMIT;
