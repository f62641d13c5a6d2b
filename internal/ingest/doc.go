// Package ingest turns uploads into searchable chunks, as durable jobs.
//
// Uploads that come at the same time are stored together, each with its job and its
// place in the backlog, in one transaction; what was acknowledged is never lost. A
// worker on any instance then claims a batch of one index's documents, reads and
// chunks them, embeds what is new, writes it all and connects it to the graph.
//
// A document's states:
//
//	          upload                    worker                 all chunks written
//	(none) ----------> pending <----------------> processing ------------------> ready
//	                    ^   |   a passing failure     |                            |
//	                    |   |                         | a failure that no retry    |
//	                    |   | cancelled               | can mend, too many of      |
//	                    |   |                         v the others, cancelled      |
//	                    |   +---------------------> failed                         |
//	                    |      upload, RetryJob       |                            |
//	                    +-----------------------------+    upload of other bytes   |
//	                    +----------------------------------------------------------+
//
// failed is where hopeless documents end: its error is the reason as the uploader
// may know it, and stays until the document is uploaded again or tried again.
// Deleting is possible in every state, also while a worker is busy with the document.
// While a new version of a document is on its way, or when it has failed, the chunks
// of the last good version stay searchable: versions are swapped in one transaction.
//
// A job's states; the last three are for good:
//
//	queued ---> running ---> succeeded
//	   ^           |-------> failed      (hopeless, or out of attempts)
//	   +-----------+-------> cancelled   (on request, or a newer version or a
//	  retry with backoff                  deletion overtook it)
//
// A job that has ended stays as it ended: RetryJob starts a new one. Cancelling
// fails the document and moves its version on, so that a worker that is busy with
// the cancelled one is overtaken.
//
// The place of a document in the backlog, a row of the control schema:
//
//	         upload             claim, when due              the job has ended
//	(none) ----------> waiting ----------------> claimed -----------------------> (none)
//	                    ^   ^                     |   |
//	                    |   +---------------------+   |
//	                    |    a passing failure,       |
//	                    |    due after a pause        |
//	                    +-----------------------------+
//	                     its instance fell silent, or does not have it at hand
//
// What is cancelled or deleted leaves the backlog at once, wherever it is in it, and a
// worker that is writing its chunks then is stopped.
//
// Work that is done twice does no harm: the version swap is guarded by the
// document's version, and a document that is ready is left alone. So what a dead
// instance had claimed is simply given to another; see takeover.go.
package ingest
