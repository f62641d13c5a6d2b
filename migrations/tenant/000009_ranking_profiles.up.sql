ALTER TABLE indexes ADD COLUMN ranking_profiles jsonb; -- parameters of ranking by name, in all their versions, and which is the default; null: none
