DROP TABLE servers;
