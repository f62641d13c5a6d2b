DROP TABLE agent_threads;
DROP TABLE agents;
