// Package replica reads at streaming replicas of a database, within bounds of staleness that
// callers give.
//
// A Set watches the primary and the replicas of one database. Every 250 ms it reads the position
// of the primary's write-ahead log, with the time before it asked:
//
//	time      10.00   10.25   10.50   10.75        now: 10.90
//	position    700     712     712     745
//
// Whatever was acknowledged before 10.25 is at a position below 712. So a replica that has replayed
// 712 is at most 0.65 s stale, whatever its clock says, and also if the primary has written
// nothing for hours. A read that may be 0.7 s stale needs position 712: the one of the oldest
// observation that is young enough.
//
//	Begin ──► choose a replica: in turn, of those that were fresh enough when last seen
//	            │ none                          │
//	            ▼                               ▼
//	         primary ◄── error ── check_replica(mark, position), then the statements
//
// The check goes in the same round trip as the statements: the replica itself refuses when it is
// behind, was promoted, or follows another timeline, so that an answer is never staler than
// allowed. Then, and when the replica fails in any way that is not the caller's doing, the
// statements run at the primary, and so do all that follow in the same Reading: a request never
// sees an older state after a newer one. A replica that does not answer the watch ends the
// reads that run there, and gets no others until it answers.
//
// A write token is a position of the log for one tenant, encrypted. A read that brings it needs a
// replica that has replayed this position, and waits a moment for one.
package replica
