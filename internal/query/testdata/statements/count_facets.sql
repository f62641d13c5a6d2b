WITH part AS (
	SELECT grouping(f0, f1, v.document_id) AS grouped, coalesce(v.f0, v.f1)::text AS value, count(*) AS chunks, v.document_id
	FROM (
		SELECT c.document_id,
			CASE WHEN pg_column_size(c.metadata) <= 2000 OR pg_column_size((c.metadata -> $3::text)) <= 2000 THEN (c.metadata -> $3::text) WHEN (c.metadata -> $3::text) IS NOT NULL THEN '{}' END AS f0,
			CASE WHEN pg_column_size(c.metadata) <= 2000 OR pg_column_size((c.metadata #> $4::text[])) <= 2000 THEN (c.metadata #> $4::text[]) WHEN (c.metadata #> $4::text[]) IS NOT NULL THEN '{}' END AS f1
		FROM "tenant_acme".chunk_7_1 AS c
		WHERE c.namespace = $1 AND c.metadata @> $2::jsonb
	) AS v
	GROUP BY GROUPING SETS ((), (v.document_id), (f0), (f1))
)
SELECT CASE WHEN p.grouped = 3 THEN 0 WHEN p.grouped = 5 THEN 1 WHEN true THEN 3 END AS number, p.value, p.chunks FROM part AS p WHERE p.grouped <> 6
UNION ALL SELECT 2, NULL, count(p.document_id) FROM part AS p WHERE p.grouped = 6

\bind [default {"team":"red"} kind [maker name]]
