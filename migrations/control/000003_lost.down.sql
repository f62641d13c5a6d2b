ALTER TABLE backlog DROP lost;
