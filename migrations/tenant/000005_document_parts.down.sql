ALTER TABLE documents DROP fingerprint;

DELETE FROM document_contents WHERE part > 0;
ALTER TABLE document_contents DROP CONSTRAINT document_contents_pkey;
ALTER TABLE document_contents DROP part;
ALTER TABLE document_contents ADD PRIMARY KEY (document_id);
