-- notable_questions are questions that were asked of an index in the last days and found nothing, took long or
-- failed. Equal ones are one row.
CREATE TABLE notable_questions (
	tenant_id   text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	index_id    bigint NOT NULL,
	kind        text COLLATE "C" NOT NULL, -- unanswered, slow or failed
	namespace   text COLLATE "C" NOT NULL,
	question_id text COLLATE "C" NOT NULL, -- the same for texts that differ in case and white space only
	question    text NOT NULL,             -- as it was asked last
	asked       bigint NOT NULL,           -- how often
	asked_at    timestamptz NOT NULL,      -- the last time
	best_score  float8,                    -- null if no answer had a calibrated score
	slowest     float8 NOT NULL,           -- seconds
	code        text COLLATE "C" NOT NULL, -- of the last failure, else empty
	PRIMARY KEY (tenant_id, index_id, kind, namespace, question_id)
);

ALTER TABLE notable_questions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON notable_questions USING (tenant_id = current_tenant());
CREATE TRIGGER refuse_stopped BEFORE INSERT OR UPDATE OR DELETE ON notable_questions FOR EACH STATEMENT EXECUTE FUNCTION refuse_stopped();
