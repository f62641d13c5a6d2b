DROP TABLE tools;
