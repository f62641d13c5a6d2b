ALTER TABLE indexes ADD COLUMN tuning jsonb; -- what judged questions said about how queries rank, and what they said before; null: nothing
