WITH part AS (
	SELECT grouping(v.document_id) AS grouped, NULL AS value, count(*) AS chunks, v.document_id
	FROM (
		SELECT c.document_id
		FROM "tenant_acme".chunk_7_1 AS c
		WHERE c.namespace = $1 AND c.metadata @> $2::jsonb
	) AS v
	GROUP BY GROUPING SETS ((), (v.document_id))
)
SELECT CASE WHEN true THEN 1 END AS number, p.value, p.chunks FROM part AS p WHERE p.grouped <> 0
UNION ALL SELECT 0, NULL, count(p.document_id) FROM part AS p WHERE p.grouped = 0

\bind [default {"team":"red"}]
