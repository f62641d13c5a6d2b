BEGIN;
SET LOCAL role = 'tenant_acme';
SET LOCAL statement_timeout = '20s';

WITH found AS (
	SELECT c.ctid AS tid, c.embedding <=> $4 AS rank_value
	FROM "tenant_acme".chunk_7_1 AS c
	WHERE c.namespace = $1 AND c.chunk_id <> ALL($2::text[]) AND (c.document_id IS NULL OR c.document_id <> ALL($3::uuid[]))
	ORDER BY (c.embedding <=> $4) + 0, c.chunk_id
	LIMIT 10
)
SELECT c.chunk_id, c.text, c.metadata, c.document_id::text, d.uri, c.title, c.ordinal, c.start_byte, c.end_byte, rank_value
FROM found JOIN "tenant_acme".chunk_7_1 AS c ON c.ctid = found.tid
	LEFT JOIN "tenant_acme".documents AS d ON d.document_id = c.document_id
ORDER BY rank_value ASC, c.chunk_id

\bind 'default' '{"a"}' '{"0198c6a2-0000-7000-8000-000000000001"}' '[1,0,0.5]' \g
COMMIT;
