ALTER TABLE documents
	DROP CONSTRAINT documents_index_id_namespace_uri_key,
	DROP namespace,
	ADD UNIQUE (index_id, uri);
