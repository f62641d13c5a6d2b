ALTER TABLE indexes DROP COLUMN recall_target, DROP COLUMN recall_curve;
