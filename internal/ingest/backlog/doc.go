// Package backlog is the queue of documents that wait for ingest or are in work, of all
// tenants, in the control schema. It knows ids, versions and sizes of documents; a
// Processor knows what to do with them.
//
// River, which runs the tasks on whole indexes (see package job), is not used for
// documents, for three reasons. Work is claimed in batches: 256 small documents of one
// index are read, embedded, written and connected together at a fraction of what they
// cost one by one, while River gives a worker one job. Tenants take turns: a claim goes
// to the next tenant in the order of ids that has something due, and no tenant has more
// than half of an instance's workers, while River's queues are first come, first served.
// And a document is in the backlog once: a newer version replaces an older one, a
// deletion removes it, and the transaction of an upload updates this one row instead of
// adding a job.
//
// The states of a document in the backlog:
//
//	        Enqueue            claim, when due               Done
//	(none) ---------> waiting ----------------> claimed -------------> (none)
//	                   ^  ^ |                    |  |
//	                   |  | +--- Leave -> (none) |  |
//	                   |  |                      |  |
//	                   |  +------- Postpone -----+  |
//	                   |    due after a pause       |
//	                   +----------------------------+
//	                     its instance died, or has lost its lease
//
// Enqueue of a newer version leads to waiting from every state. Leave removes a document
// that was cancelled or deleted. If an instance is claiming it at that moment, the row
// stays, and the worker finds its job ended.
//
// A running instance writes heartbeats. When they stop, the other instances take over the
// documents that it had claimed and its tasks in River. Processing a document twice is
// harmless: a result is stored only for the current version of the document.
package backlog
