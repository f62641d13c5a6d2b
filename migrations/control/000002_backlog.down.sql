DROP TABLE backlog;
DROP TABLE instances;
