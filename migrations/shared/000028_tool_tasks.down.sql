DROP TABLE tool_tasks;
