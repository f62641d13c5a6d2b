DROP TABLE connector_items;
DROP TABLE connectors;
