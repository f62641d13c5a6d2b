-- issuers are the authorization servers whose access tokens tenants accept for themselves. They
-- are here, as API keys are, because they are read before a caller is known.
CREATE TABLE issuers (
	tenant_id    text COLLATE "C" NOT NULL REFERENCES tenants ON DELETE CASCADE,
	issuer_name  text COLLATE "C",
	url          text NOT NULL,
	audiences    text[] NOT NULL,
	jwks_url     text NOT NULL,
	scope_claim  text NOT NULL,
	scope_prefix text NOT NULL,
	scopes       text[] NOT NULL,
	filter_claim text NOT NULL,
	bounds_claim text NOT NULL,
	created_at   timestamptz NOT NULL DEFAULT now(),
	updated_at   timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, issuer_name),
	UNIQUE (tenant_id, url)
);
