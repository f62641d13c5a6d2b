ALTER TABLE indexes ADD COLUMN embedded_form int NOT NULL DEFAULT 0; -- version of what is embedded of a chunk, of all chunks; 0: some were embedded before there were versions
