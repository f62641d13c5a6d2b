-- wal_timeline names the present timeline of the database's write-ahead log, in its only row.
-- Positions in the log can be compared only within one timeline: a server that takes over from
-- another begins a new one. mark is made anew with each, so that a replica which has this row
-- follows this timeline.
CREATE TABLE wal_timeline (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	system   bigint NOT NULL, -- system_identifier of the server
	timeline text NOT NULL,   -- as in the names of the log's files
	mark     uuid NOT NULL DEFAULT gen_random_uuid()
);

-- check_replica raises an error unless this server is a replica on the timeline with the mark, and
-- has replayed the log up to the position: RG011 if it is no replica, RG012 if it is behind, RG013
-- if it is on another timeline. A statement that follows in the same transaction sees what was
-- written before the position.
CREATE FUNCTION check_replica(wanted_mark uuid, wanted_position bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF NOT pg_catalog.pg_is_in_recovery() THEN
		RAISE EXCEPTION 'the server is not a replica' USING ERRCODE = 'RG011';
	END IF;
	IF pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_last_wal_replay_lsn(), '0/0') < wanted_position THEN
		RAISE EXCEPTION 'the replica is behind' USING ERRCODE = 'RG012';
	END IF;
	IF NOT EXISTS (SELECT FROM ragd.wal_timeline AS t WHERE t.mark = wanted_mark) THEN
		RAISE EXCEPTION 'the replica follows another timeline' USING ERRCODE = 'RG013';
	END IF;
END
$$;
