// Package embedded runs a private PostgreSQL from the server binaries that are
// installed on the machine: the same engine as in production, nothing to set up.
//
//	srv, err := embedded.Start(ctx, embedded.Config{DataDir: dir, Logger: log})
//	if err != nil { ... }
//	defer srv.Stop(ctx)
//	pool, err := postgres.Open(ctx, postgres.Config{URL: srv.URL()})
//
// # On disk
//
//	<DataDir>/lock       held (flock) by the one process that runs the server
//	<DataDir>/cluster/   PostgreSQL's data directory, mode 0700; the socket is in it
//	    ragd.conf        our settings, written at each start; ALTER SYSTEM and
//	                     what follows the include in postgresql.conf overrule it
//
// The server listens on the unix socket alone and trusts who can open it: the
// user that it runs as, and root. Where the path is too long for a socket (103
// bytes), the socket is in a private folder of /tmp.
//
// # Life
//
//	         initdb, once
//	Start ------> starting ------> ready ------> stopped
//	                 ^               |    Stop: fast shutdown, then harder
//	                 |   backoff     |    as its context ends
//	                 +---------------+
//	                  the child died
//
// A server that dies is started again, for as long as it takes; meanwhile its
// clients see refused connections. A ragd that dies takes its server along: on
// Linux the kernel tells the child, and elsewhere, or when that child is slow to
// go, the next Start finds it by its pid file and stops it first.
//
// # Root
//
// PostgreSQL refuses to run as root. When we are root, it runs as the owner of
// the cluster, for a new one the user postgres or else nobody, and on Linux it
// gets its data directory as an open descriptor: so it works below folders that
// this user could not walk through, such as /root, without loosening them.
package embedded
