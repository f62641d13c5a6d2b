CREATE TABLE tenant.chunk_1 (
    document_id uuid,
    ordinal integer DEFAULT 0 NOT NULL,
    start_byte integer DEFAULT 0 NOT NULL,
    end_byte integer DEFAULT 0 NOT NULL,
    token_count integer DEFAULT 0 NOT NULL,
    embedding extensions.vector(512) NOT NULL,
    term_weights extensions.sparsevec,
    namespace text DEFAULT 'default'::text NOT NULL COLLATE pg_catalog."C",
    chunk_id text NOT NULL COLLATE pg_catalog."C",
    metadata jsonb NOT NULL,
    sparse extensions.sparsevec,
    content_keys text[],
    title text DEFAULT ''::text NOT NULL,
    text text DEFAULT ''::text NOT NULL,
    terms tsvector
)
WITH (toast_tuple_target='2712');
ALTER TABLE ONLY tenant.chunk_1 ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE ONLY tenant.chunk_1 ALTER COLUMN term_weights SET STORAGE MAIN;
ALTER TABLE ONLY tenant.chunk_1 ALTER COLUMN term_weights SET COMPRESSION lz4;
ALTER TABLE ONLY tenant.chunk_1 ALTER COLUMN namespace SET STORAGE MAIN;
ALTER TABLE ONLY tenant.chunk_1 ALTER COLUMN chunk_id SET STORAGE MAIN;
ALTER TABLE ONLY tenant.chunk_1 ALTER COLUMN metadata SET STORAGE MAIN;
ALTER TABLE ONLY tenant.chunk_1 ALTER COLUMN metadata SET COMPRESSION lz4;
ALTER TABLE ONLY tenant.chunk_1 ALTER COLUMN sparse SET STORAGE MAIN;
ALTER TABLE ONLY tenant.chunk_1 ALTER COLUMN title SET STORAGE MAIN;
ALTER TABLE ONLY tenant.chunk_1 ALTER COLUMN text SET COMPRESSION lz4;
ALTER TABLE ONLY tenant.chunk_1 ALTER COLUMN terms SET COMPRESSION lz4;

CREATE TABLE tenant.edge_1 (
    document_id uuid NOT NULL,
    ordinal integer NOT NULL,
    type ragd_shared.edge_type NOT NULL,
    key bigint,
    kind text COLLATE pg_catalog."C",
    name text COLLATE pg_catalog."C",
    to_document_id uuid,
    to_ordinal integer,
    cosine real
);

CREATE TABLE tenant.member_1 (
    document_id uuid NOT NULL,
    ordinal integer NOT NULL,
    topic_id integer NOT NULL,
    subtopic_id integer NOT NULL,
    rank real NOT NULL
);

CREATE TABLE tenant.term_1 (
    lexeme text NOT NULL COLLATE pg_catalog."C",
    chunks bigint NOT NULL
);

CREATE TABLE tenant.topic_1 (
    topic_id integer NOT NULL,
    parent_id integer NOT NULL,
    "position" integer NOT NULL,
    namespace text NOT NULL COLLATE pg_catalog."C",
    chunks integer NOT NULL,
    title text NOT NULL,
    summary text NOT NULL,
    described text NOT NULL COLLATE pg_catalog."C",
    terms text[] NOT NULL,
    documents uuid[] NOT NULL,
    ordinals integer[] NOT NULL
);

CREATE TABLE tenant.word_1 (
    word text NOT NULL COLLATE pg_catalog."C",
    chunks integer NOT NULL
);

ALTER TABLE ONLY tenant.chunk_1
    ADD CONSTRAINT chunk_1_pkey PRIMARY KEY (namespace, chunk_id);

ALTER TABLE ONLY tenant.member_1
    ADD CONSTRAINT member_1_pkey PRIMARY KEY (document_id, ordinal);

ALTER TABLE ONLY tenant.term_1
    ADD CONSTRAINT term_1_pkey PRIMARY KEY (lexeme);

ALTER TABLE ONLY tenant.topic_1
    ADD CONSTRAINT topic_1_pkey PRIMARY KEY (topic_id);

CREATE INDEX chunk_1_document_id_ordinal_idx ON tenant.chunk_1 USING btree (document_id, ordinal) WHERE (document_id IS NOT NULL);

CREATE INDEX chunk_1_metadata_idx ON tenant.chunk_1 USING gin (metadata jsonb_path_ops);

CREATE INDEX chunk_1_terms_idx ON tenant.chunk_1 USING gin (terms);

CREATE INDEX edge_1_document_id_ordinal_idx ON tenant.edge_1 USING btree (document_id, ordinal);

CREATE UNIQUE INDEX edge_1_to_document_id_to_ordinal_document_id_ordinal_idx ON tenant.edge_1 USING btree (to_document_id, to_ordinal, document_id, ordinal) WHERE (to_document_id IS NOT NULL);

CREATE UNIQUE INDEX edge_1_type_key_document_id_ordinal_idx ON tenant.edge_1 USING btree (type, key, document_id, ordinal) WHERE (key IS NOT NULL);

CREATE INDEX member_1_topic_id_idx ON tenant.member_1 USING btree (topic_id);

CREATE INDEX metadata_1_number_7c64634977425edc ON tenant.chunk_1 USING btree ((
CASE
    WHEN (jsonb_typeof((metadata -> 'year'::text)) = 'number'::text) THEN ((metadata -> 'year'::text))::numeric
    ELSE NULL::numeric
END));

CREATE INDEX metadata_1_text_7c64634977425edc ON tenant.chunk_1 USING btree (((metadata ->> 'year'::text)) COLLATE "C");

CREATE INDEX metadata_1_time_7c64634977425edc ON tenant.chunk_1 USING btree (ragd_shared.instant((metadata ->> 'year'::text)));

CREATE INDEX word_1_word_idx ON tenant.word_1 USING btree (word);

CREATE TRIGGER delete_edges AFTER DELETE ON tenant.chunk_1 REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.delete_edges('1');

CREATE TRIGGER deleted AFTER DELETE ON tenant.edge_1 REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.edges_changed('1');

CREATE TRIGGER inserted AFTER INSERT ON tenant.edge_1 REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.edges_changed('1');
