DROP TABLE tools;
DROP FUNCTION tool_changed();
