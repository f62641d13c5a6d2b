DROP TABLE moved_work;
DROP TABLE moves;
