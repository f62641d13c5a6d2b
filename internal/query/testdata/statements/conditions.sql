SELECT coalesce(((t.made::tsquery || phraseto_tsquery('english', t.text)))::text, '') AS query
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS t (text, made, n)
ORDER BY t.n
