ALTER TABLE connectors DROP runs;
