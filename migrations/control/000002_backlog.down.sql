DROP TABLE backlog;
