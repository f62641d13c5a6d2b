-- How often an instance died with the document in its hands. That is rarely the
-- document's fault, and no attempt that failed.
ALTER TABLE backlog ADD lost int NOT NULL DEFAULT 0;
