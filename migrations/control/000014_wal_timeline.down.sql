DROP FUNCTION check_replica(uuid, bigint);
DROP TABLE wal_timeline;
