-- The part of its index that a document is in; its uri names it there.
ALTER TABLE documents
	ADD namespace text COLLATE "C" NOT NULL DEFAULT 'default',
	DROP CONSTRAINT documents_index_id_uri_key,
	ADD UNIQUE (index_id, namespace, uri);
