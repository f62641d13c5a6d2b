CREATE TRIGGER deleted AFTER DELETE ON indexes
	FOR EACH ROW EXECUTE FUNCTION ragd_shared.index_deleted();
