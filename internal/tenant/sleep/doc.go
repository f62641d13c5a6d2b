// Package sleep puts tenants to sleep that are not used, and wakes them with their first call.
//
// A tenant that is asleep costs the database its row, its keys and its usage: its data is an archive (see package
// archive) in a folder or a bucket, encrypted with a data key of its own, which master keys encrypt. Who erases the
// key has erased the archive.
//
//	            the archive was read back          the schema is gone
//	archiving ----------------------------> dropping ----------------> asleep
//	    |       the tenant is asleep from here on                         |  the first call
//	    +--> undone: writes go on                                         v
//	                                        awake <------------------- (waking)
//	                  the archive is kept for Keep      the data is loaded
//
// While it is archiving, the tenant is read as ever, and its writes are refused, as at the end of a move. The switch is one
// transaction in the first database: before it the database has the tenant, after it the archive. Waking loads the
// archive into an empty schema, as an import does, so it reads the archives of older versions, and leaves the Postgres
// indexes over embeddings to maintenance. The transaction that ends it makes the tenant ready. Both take the lock of the tenant
// that moves and deletions take, so that one instance does them. Each step may be interrupted: what had not been switched is
// undone, what had is completed, and a waking begins again, by Run or by the next call.
package sleep
