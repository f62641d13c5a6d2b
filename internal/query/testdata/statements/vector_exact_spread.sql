BEGIN;
SET LOCAL role = 'tenant_acme';
SET LOCAL statement_timeout = '20s';

WITH found_ranked AS (
	SELECT c.ctid AS tid, c.chunk_id, c.document_id, c.embedding <=> $2 AS rank_value
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.namespace = $1
), found_numbered AS (
	SELECT tid, chunk_id, rank_value,
		row_number() OVER (PARTITION BY document_id, CASE WHEN document_id IS NULL THEN chunk_id END ORDER BY rank_value ASC, chunk_id) AS nth
	FROM found_ranked
), found AS (
	SELECT tid, rank_value
	FROM found_numbered
	WHERE nth <= 2
	ORDER BY rank_value ASC, chunk_id
	LIMIT 50
)
SELECT c.chunk_id, c.text, c.metadata, c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte, rank_value
FROM found JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = found.tid
	LEFT JOIN "tenant_acme".documents AS d ON d.document_id = c.document_id
ORDER BY rank_value ASC, c.chunk_id

\bind 'default' '[1,0,0.5]' \g
COMMIT;
