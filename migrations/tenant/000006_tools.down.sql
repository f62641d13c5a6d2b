DROP TABLE tools;
DROP FUNCTION announce_tool();
