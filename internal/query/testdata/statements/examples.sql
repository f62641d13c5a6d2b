SELECT c.document_id::text, c.embedding::vector AS embedding
FROM "tenant_acme".chunk_7_1 AS c
WHERE c.namespace = $1 AND c.embedding IS NOT NULL AND c.chunk_id = $2 AND c.metadata @> $3::jsonb
ORDER BY c.ordinal, c.chunk_id
LIMIT 512

\bind 'default' 'a' '{"lang":"en"}' \g

SELECT c.document_id::text, c.embedding::vector AS embedding
FROM "tenant_acme".chunk_7_1 AS c
WHERE c.namespace = $1 AND c.embedding IS NOT NULL AND c.document_id = $2::uuid AND c.metadata @> $3::jsonb
ORDER BY c.ordinal, c.chunk_id
LIMIT 512

\bind 'default' '0198c6a2-0000-7000-8000-000000000001' '{"lang":"en"}' \g

SELECT c.document_id::text, c.embedding::vector AS embedding
FROM "tenant_acme".chunk_7_1 AS c
WHERE c.namespace = $1 AND c.embedding IS NOT NULL AND c.document_id = (SELECT d.document_id FROM "tenant_acme".documents AS d WHERE d.index_id = $2 AND d.namespace = $1 AND d.uri = $3) AND c.metadata @> $4::jsonb
ORDER BY c.ordinal, c.chunk_id
LIMIT 512

\bind 'default' '7' 'a.md' '{"lang":"en"}' \g

