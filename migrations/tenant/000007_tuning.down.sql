ALTER TABLE indexes DROP COLUMN tuning;
