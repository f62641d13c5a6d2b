DROP TRIGGER announce_tool ON tools;
DROP FUNCTION announce_tool();
DROP TRIGGER announce_deleted_documents ON documents;
DROP TRIGGER announce_updated_documents ON documents;
DROP FUNCTION announce_documents();
DROP TRIGGER announce_index ON indexes;
DROP FUNCTION announce_index();
