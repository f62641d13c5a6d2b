ALTER TABLE indexes DROP COLUMN embedded_form;
