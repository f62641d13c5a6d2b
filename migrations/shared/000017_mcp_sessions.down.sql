DROP TABLE mcp_messages;
DROP TABLE mcp_sessions;
DROP FUNCTION mcp_message_sent;
DROP FUNCTION mcp_session_changed;
