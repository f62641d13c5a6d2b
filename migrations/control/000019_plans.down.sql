DROP TABLE tenant_plans;
DROP TABLE plans;
