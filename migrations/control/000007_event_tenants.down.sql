DROP TABLE event_tenants;
