-- endpoints are addresses at which a tenant's own models are served.
CREATE TABLE endpoints (
	tenant_id            text COLLATE "C" NOT NULL DEFAULT current_tenant() REFERENCES ragd.tenants ON DELETE CASCADE,
	endpoint_name        text COLLATE "C",
	kind                 text NOT NULL,
	base_url             text NOT NULL,
	secret               bytea, -- the key and the headers, encrypted for this row by package seal; null if there are none
	has_api_key          boolean NOT NULL,
	header_names         text[] NOT NULL,
	max_concurrent_calls int NOT NULL,
	requests_per_second  double precision NOT NULL,
	timeout_ms           int NOT NULL,
	models               jsonb NOT NULL,
	created_at           timestamptz NOT NULL DEFAULT now(),
	updated_at           timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, endpoint_name)
);

ALTER TABLE endpoints ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON endpoints USING (tenant_id = current_tenant());
