-- idempotent_calls are the calls of the last day that had the header Idempotency-Key, with their answers; see package
-- idempotency. Keys and requests are stored as hashes.
CREATE TABLE idempotent_calls (
	call_hash     bytea PRIMARY KEY,                                            -- of the tenant, the caller and the key
	tenant_id     text COLLATE "C" REFERENCES tenants ON DELETE CASCADE, -- null for an operator's call about none
	request_hash  bytea NOT NULL,
	claim         uuid NOT NULL,        -- of the run that may end the call
	claimed_until timestamptz NOT NULL, -- then another run may claim a call that has not ended
	ended_at      timestamptz,          -- null while the call runs
	fault         json,                 -- fault.Error, if it failed
	answer        bytea,                -- null with sealed_answer, for an error, and for one that is not kept
	sealed_answer bytea,                -- that shows a secret
	answer_bytes  int NOT NULL DEFAULT 0,
	created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX idempotent_calls_of_tenant ON idempotent_calls (tenant_id) INCLUDE (answer_bytes);
CREATE INDEX idempotent_calls_oldest ON idempotent_calls (created_at);
