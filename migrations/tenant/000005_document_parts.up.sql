-- A large document is stored in parts.
ALTER TABLE document_contents ADD part int NOT NULL DEFAULT 0;
ALTER TABLE document_contents DROP CONSTRAINT document_contents_pkey;
ALTER TABLE document_contents ADD PRIMARY KEY (document_id, part);

-- What tells one content of a uri from another to who uploads it.
ALTER TABLE documents ADD fingerprint text COLLATE "C" NOT NULL DEFAULT '';
