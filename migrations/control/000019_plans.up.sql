-- plans are named sets of quotas and features that the operator gives to tenants. Only the first database of a service
-- has rows.
CREATE TABLE plans (
	plan_name    text COLLATE "C" PRIMARY KEY,
	display_name text NOT NULL DEFAULT '',
	settings     jsonb NOT NULL DEFAULT '{}', -- quotas and sleepAfter, as in tenants; the settings of a tenant win
	without      text[] NOT NULL DEFAULT '{}', -- features that its tenants do not have
	models       text[] NOT NULL DEFAULT '{}', -- patterns of models at endpoints that its tenants may use; none: all
	created_at   timestamptz NOT NULL DEFAULT now(),
	updated_at   timestamptz NOT NULL DEFAULT now()
);

-- tenant_plans has the plan of each tenant that has one. It is a table of its own so that the row of a tenant can be
-- copied to the database in which the tenant lives, which has no plans.
CREATE TABLE tenant_plans (
	tenant_id text COLLATE "C" PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
	plan_name text COLLATE "C" NOT NULL REFERENCES plans
);
CREATE INDEX tenant_plans_of_plan ON tenant_plans (plan_name, tenant_id);
