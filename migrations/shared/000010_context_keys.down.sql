DROP TABLE context_keys;
