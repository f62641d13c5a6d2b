-- asked_questions are embeddings of questions that were asked of an index recently, without their
-- texts: the search width is measured with them. A new one replaces one of the same slot.
CREATE TABLE asked_questions (
	tenant_id  text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	index_id   bigint NOT NULL,
	slot       smallint NOT NULL,
	generation int NOT NULL, -- of the index
	embedding  real[] NOT NULL,
	asked_at   timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, index_id, slot)
);

ALTER TABLE asked_questions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON asked_questions USING (tenant_id = current_tenant());
