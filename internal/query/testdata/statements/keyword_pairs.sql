BEGIN;
SET LOCAL role = 'tenant_acme';
SET LOCAL statement_timeout = '20s';
SET LOCAL plan_cache_mode = 'force_custom_plan';

WITH candidate AS (
	SELECT c.ctid AS tid
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.terms @@ $4::text::tsquery AND c.namespace = $1
	ORDER BY c.term_weights <#> $2, c.chunk_id
	LIMIT 50
), scored AS (
	SELECT candidate.tid, c.chunk_id, c.document_id, c.embedding <=> $3 AS distance,
		coalesce(-(c.term_weights <#> $2), 0) AS keyword,
		$7::float8 * (SELECT coalesce(sum(p.weight), 0) ^ 2
		FROM (SELECT c.terms || ''::tsvector AS terms OFFSET 0) AS t, unnest((SELECT $5::text[]::tsquery[]), $6::float8[]) AS p (phrase, weight)
		WHERE t.terms @@ p.phrase) AS adjacent
	FROM candidate JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = candidate.tid
), found AS (
	SELECT tid, keyword, adjacent, distance,
		keyword + adjacent AS rank_value
	FROM scored
	ORDER BY rank_value DESC, chunk_id
	LIMIT 10
)
SELECT c.chunk_id, c.text, c.metadata, c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte, found.keyword, found.adjacent, found.distance, rank_value
FROM found JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = found.tid
	LEFT JOIN "tenant_acme".documents AS d ON d.document_id = c.document_id
ORDER BY rank_value DESC, c.chunk_id

\bind 'default' '{5:4.016848,11:7.1184964}/1000000000' '[1,0,0.5]' '\'walk\' | \'graph\'' '{"(\'graph\') <1> (\'walk\')"}' '[4]' '0.125' \g
COMMIT;
