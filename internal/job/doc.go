// Package job is the life of a job: asynchronous work of a tenant, one row in its
// table jobs, that callers list, watch, cancel and retry.
//
// The states of a job; the last three are final:
//
//	             Begin               Succeed
//	queued ---------------> running ----------> succeeded
//	  |  ^                   |  |
//	  |  |   FailAttempt     |  |  FailAttempt
//	  |  +-------------------+  |  (last attempt)
//	  |                         +-------------> failed
//	  |        Cancel           |
//	  +-------------------------+-------------> cancelled
//
// A job that has ended keeps its state: Retry starts a new job. Whoever works on a job
// learns from ErrEnded that somebody has ended it meanwhile.
//
// What a job does depends on its kind. A Registry says for each Kind what runs it, what
// cancels it and what retries it; it is filled once, where the service is wired, so that
// packages start, cancel and retry each other's jobs without importing each other.
//
// Queue runs the kinds that are work on one index: maintenance, re-embedding, graphs. It
// is the only user of River, whose tables in the control schema hold the tasks: which
// job, not how it goes. Ingest jobs wait in the backlog instead; see package backlog.
package job
