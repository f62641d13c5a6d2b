// Package ingest turns uploads into searchable chunks: upload, read, chunk, embed, store.
//
// Uploads that arrive at the same time are stored together, each with its job and its row
// in the backlog, in one transaction; what was acknowledged is never lost. On any
// instance the backlog then gives a Worker a batch of one index's documents, which it
// reads and chunks, embeds where the text is new, stores, and connects to the graph.
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
// The error of a failed document is the reason as callers may know it; it stays until
// the document is uploaded or retried again. A document can be deleted in every state,
// also while a worker is busy with it. While a new version is on its way, or when it has
// failed, the chunks of the last good version stay searchable: one transaction swaps
// the versions.
//
// Cancelling a job fails its document and moves the version on. A worker that is busy
// with an older version finds that out when it stores: the swap is guarded by the
// version, and a document that is ready is left alone, so work that is done twice does
// no harm.
//
// See package job for the states of a job, and package backlog for how documents wait.
package ingest
