DROP TABLE tool_policies;
