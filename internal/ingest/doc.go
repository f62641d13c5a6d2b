// Package ingest turns uploads into searchable chunks, as durable jobs.
//
// An upload is stored with its job in one transaction; what was acknowledged is
// never lost. A worker on any instance then reads the file, chunks, embeds and
// writes it.
//
// A document's states:
//
//	          upload                    worker                 all chunks written
//	(none) ----------> pending <----------------> processing ------------------> ready
//	                      ^     a passing failure     |                           |
//	                      |                           | a failure that no         | upload of
//	                      |                           v retry can mend            | other bytes
//	                      +------ upload ---------- failed                        |
//	                      +-------------------------------------------------------+
//
// Deleting is possible in every state. While a new version of a document is on
// its way, or when it has failed, the chunks of the last good version stay
// searchable: versions are swapped in one transaction.
//
// A job's states:
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
// Work that is done twice does no harm: the version swap is guarded by the
// document's version, and a document that is ready is left alone. So a job whose
// instance died is simply given to another; see takeover.go.
package ingest
