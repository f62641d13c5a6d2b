BEGIN;
SET LOCAL role = 'tenant_acme';
SET LOCAL statement_timeout = '20s';
SET LOCAL plan_cache_mode = 'force_custom_plan';

WITH found AS (
	SELECT c.ctid AS tid, c.embedding <=> $11 AS rank_value
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.namespace = $1 AND ((CASE WHEN jsonb_typeof((c.metadata #> $5::text[])) = 'number' THEN (c.metadata #> $5::text[])::numeric END) >= $7::numeric AND (CASE WHEN jsonb_typeof((c.metadata #> $5::text[])) = 'number' THEN (c.metadata #> $5::text[])::numeric END) <= $8::numeric AND ((CASE WHEN jsonb_typeof((c.metadata #> $6::text[])) = 'number' THEN (c.metadata #> $6::text[])::numeric END) >= $9::numeric AND (CASE WHEN jsonb_typeof((c.metadata #> $6::text[])) = 'number' THEN (c.metadata #> $6::text[])::numeric END) <= $10::numeric) AND (SELECT CASE WHEN element1.lat BETWEEN -90 AND 90 AND element1.lon BETWEEN -180 AND 180 THEN least(1, power(sin(radians(element1.lat::float8 - $2::float8) / 2), 2) + cos(radians($2::float8)) * cos(radians(element1.lat::float8)) * power(sin(radians(element1.lon::float8 - $3::float8) / 2), 2)) <= $4::float8 END FROM (SELECT (CASE WHEN jsonb_typeof((c.metadata #> $5::text[])) = 'number' THEN (c.metadata #> $5::text[])::numeric END) AS lat, (CASE WHEN jsonb_typeof((c.metadata #> $6::text[])) = 'number' THEN (c.metadata #> $6::text[])::numeric END) AS lon OFFSET 0) AS element1))
	ORDER BY (c.embedding <=> $11) + 0, c.chunk_id
	LIMIT 10
)
SELECT c.chunk_id, c.text, c.metadata, c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte, rank_value
FROM found JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = found.tid
	LEFT JOIN "tenant_acme".documents AS d ON d.document_id = c.document_id
ORDER BY rank_value ASC, c.chunk_id

\bind 'default' '52.5' '13.4' '1.38581773484677e-08' '{"place","lat"}' '{"place","lon"}' '52.486510193544134' '52.513489806455866' '13.377840569994282' '13.422159430005719' '[1,0,0.5]' \g
COMMIT;
