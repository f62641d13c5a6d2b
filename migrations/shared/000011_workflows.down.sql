DROP TABLE workflow_steps;
DROP TABLE workflow_runs;
DROP TABLE workflows;
