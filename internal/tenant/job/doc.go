// Package job manages jobs: asynchronous work of a tenant that callers list, watch, cancel
// and retry. A job is one row in the tenant's table jobs.
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
// The job of a small document is not shown as running: it goes from queued to succeeded.
//
// A job that has ended keeps its state: Retry starts a new job. A worker whose job was
// ended by someone else gets ErrEnded.
//
// What a job does depends on its kind. A Registry says for each Kind what runs it, what
// cancels it and what retries it; it is filled once, where the service is wired, so that
// packages start, cancel and retry each other's jobs without importing each other.
//
// Queue runs the kinds that work on one index: maintenance, re-embedding, graphs. It is the
// only user of River, whose tables in the control schema hold the tasks; a task names its
// job, and the state of the job is in the table jobs. Ingest jobs wait in the backlog
// instead; see package backlog.
package job
