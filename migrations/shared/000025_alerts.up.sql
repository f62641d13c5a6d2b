-- alerts are standing questions, with which new passages of an index are compared.
CREATE TABLE alerts (
	tenant_id    text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	alert_id     uuid,
	index_id     bigint NOT NULL,
	index_name   text COLLATE "C" NOT NULL,
	namespace    text COLLATE "C" NOT NULL,
	display_name text NOT NULL,
	question     text NOT NULL,
	mode         text COLLATE "C" NOT NULL, -- hybrid, keyword or vector
	min_score    float8 NOT NULL,
	filter       json NOT NULL,
	subject      text COLLATE "C" NOT NULL, -- who made it
	access       json NOT NULL,             -- access.Delegation: with whose rights passages are compared
	embedding    real[],                    -- of the question; null with the mode keyword
	embedded_by  text NOT NULL,             -- the model of the embedding, with its dimension
	ended_reason text NOT NULL DEFAULT '',  -- why passages are no longer compared
	created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
	updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(), -- later after each change, so that the sum of an index tells its set of alerts from others
	PRIMARY KEY (tenant_id, alert_id)
);

CREATE INDEX alerts_of_index ON alerts (tenant_id, index_id);
CREATE INDEX alerts_newest ON alerts (tenant_id, created_at DESC, alert_id DESC);

ALTER TABLE alerts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON alerts USING (tenant_id = current_tenant());
CREATE TRIGGER refuse_stopped BEFORE INSERT OR UPDATE OR DELETE ON alerts FOR EACH STATEMENT EXECUTE FUNCTION refuse_stopped();

-- alert_matches are the passages that matched. The text of a passage is not here, only what tells it from others.
CREATE TABLE alert_matches (
	tenant_id   text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	alert_id    uuid,
	document_id uuid,
	passage     bytea,  -- the beginning of the SHA-256 of its text
	match_id    uuid NOT NULL, -- of version 7: later ones are greater
	score       float8 NOT NULL,
	created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (tenant_id, alert_id, document_id, passage),
	FOREIGN KEY (tenant_id, alert_id) REFERENCES alerts ON DELETE CASCADE
);

CREATE INDEX alert_matches_newest ON alert_matches (tenant_id, alert_id, match_id DESC);

ALTER TABLE alert_matches ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON alert_matches USING (tenant_id = current_tenant());
CREATE TRIGGER refuse_stopped BEFORE INSERT OR UPDATE OR DELETE ON alert_matches FOR EACH STATEMENT EXECUTE FUNCTION refuse_stopped();
