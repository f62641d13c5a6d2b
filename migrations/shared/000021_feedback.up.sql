-- feedback is what callers have said of the chunks that they were shown: of which the questions of the sets are
-- made that have any. A set has it as long as its question.
CREATE TABLE feedback (
	tenant_id   text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	set_name    text COLLATE "C",
	question_id text COLLATE "C",
	uri         text COLLATE "C", -- of the document
	start_byte  bigint,           -- of the chunk in it
	end_byte    bigint,
	caller_hash bytea,            -- SHA-256 of the credential's issuer and subject
	helpful     boolean NOT NULL,
	created_at  timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, set_name, question_id, uri, start_byte, end_byte, caller_hash),
	FOREIGN KEY (tenant_id, set_name) REFERENCES question_sets ON DELETE CASCADE
);

ALTER TABLE feedback ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON feedback USING (tenant_id = current_tenant());
CREATE TRIGGER refuse_stopped BEFORE INSERT OR UPDATE OR DELETE ON feedback FOR EACH STATEMENT EXECUTE FUNCTION refuse_stopped();
