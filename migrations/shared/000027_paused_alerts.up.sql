-- Passages are not compared with a paused alert.
ALTER TABLE alerts ADD COLUMN paused boolean NOT NULL DEFAULT false;
