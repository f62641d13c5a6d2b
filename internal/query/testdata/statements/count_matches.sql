WITH part AS (
	SELECT grouping(f0, v.document_id) AS grouped, coalesce(v.f0)::text AS value, count(*) AS chunks, v.document_id
	FROM (
		SELECT c.document_id,
			CASE WHEN pg_column_size(c.metadata) <= 2000 OR pg_column_size((c.metadata -> $4::text)) <= 2000 THEN (c.metadata -> $4::text) WHEN (c.metadata -> $4::text) IS NOT NULL THEN '{}' END AS f0
		FROM "tenant_acme".chunk_7_1 AS c
		WHERE c.terms @@ $3::text::tsquery AND c.namespace = $1 AND c.metadata @> $2::jsonb
	) AS v
	GROUP BY GROUPING SETS ((), (v.document_id), (f0))
)
SELECT CASE WHEN p.grouped = 1 THEN 0 WHEN true THEN 2 END AS number, p.value, p.chunks FROM part AS p WHERE p.grouped <> 2
UNION ALL SELECT 1, NULL, count(p.document_id) FROM part AS p WHERE p.grouped = 2

\bind [default {"team":"red"} 'graph' | 'walk' kind]
