-- event_tenants are the tenants that may have events: those with hooks or watchers. Other
-- tenants are not looked at when old events are deleted and late deliveries are found.
CREATE TABLE event_tenants (
	tenant_id text COLLATE "C" PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
	swept_at  timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX event_tenants_swept ON event_tenants (swept_at);
