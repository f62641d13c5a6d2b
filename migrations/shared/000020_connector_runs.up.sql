-- runs is connector.Run of the last runs that have ended, newest first.
ALTER TABLE connectors ADD runs jsonb NOT NULL DEFAULT '[]';
