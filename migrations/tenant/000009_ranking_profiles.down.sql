ALTER TABLE indexes DROP COLUMN ranking_profiles;
