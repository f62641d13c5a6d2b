// Package ingest turns uploads into searchable chunks: upload, read, chunk, embed, store.
//
// Uploads that arrive at the same time are stored together, each with its job and its row
// in the backlog, in one transaction; an acknowledged upload is never lost. On any
// instance the backlog then gives a Worker a batch of documents of one index. The Worker
// reads and chunks them, embeds new texts, stores the chunks, and adds edges to the graph.
//
// The states of a document:
//
//	          upload                    worker                 all chunks stored
//	(none) ----------> pending <----------------> processing ------------------> ready
//	                    ^   |   transient error       |                            |
//	                    |   |                         | permanent error, or the    |
//	                    |   | cancelled               | last attempt, or           |
//	                    |   v                         v cancelled                  |
//	                    |  failed <-------------------+                            |
//	                    |    |   upload, RetryJob                                  |
//	                    +----+                           upload of other content   |
//	                    +----------------------------------------------------------+
//
// Small documents that no model of a provider processes are not shown as processing: they
// are pending until they are ready.
//
// The error of a failed document is safe to show to callers; it stays until the document
// is uploaded again or retried. A document can be deleted in every state, even while a
// worker processes it. Until a new version is ready, and if it fails, the chunks of the
// last good version stay searchable: one transaction swaps the versions.
//
// Cancelling a job fails its document and increments the version. A worker that still
// processes the older version gets job.ErrEnded when it stores, because the swap checks
// the version. A ready document is not stored again, so processing it twice is harmless.
//
// See package job for the states of a job, and package backlog for how documents wait.
//
// The wing has four rooms more:
//
//	parse    files to text: Markdown where a format has structure; foreign bytes are read in child processes
//	export   exports of other systems to documents, for the command line
//	extract  titles, summaries, keywords and fields that a language model finds
//	backlog  the queue of documents of all tenants
//
// The wing may import graph, query, index, model, tenant, chunk, and the leaf rooms of all wings.
package ingest
