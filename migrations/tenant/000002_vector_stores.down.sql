DROP TRIGGER renewed ON indexes;
