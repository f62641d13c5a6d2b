// Package embedded runs a private PostgreSQL server from the binaries that are installed
// on the machine, so that ragd needs no database to be set up.
//
//	srv, err := embedded.Start(ctx, embedded.Config{DataDir: dir, Logger: log})
//	if err != nil { ... }
//	defer srv.Stop(ctx)
//	pool, err := postgres.Open(ctx, postgres.Config{URL: srv.URL()})
//
// The service uses two roles: a superuser, who creates schemas and roles (AdminURL), and a
// role without rights of its own for everything else (URL). PostgreSQL returns to the role
// of the connection on RESET ROLE, so no statement of a request may use a connection of
// the superuser, who can run programs and read files on the server.
//
// # On disk
//
//	<DataDir>/lock       locked (flock) by the one process that runs the server
//	<DataDir>/cluster/   PostgreSQL's data directory, mode 0700, with the socket
//	    ragd.conf        ragd's settings, written at each start; ALTER SYSTEM and
//	                     lines below the include in postgresql.conf override them
//
// The server listens on the unix socket only and needs no password: its own user and root
// can open the socket. If the path is too long for a socket (over 103 bytes), the socket
// is in a private folder in /tmp.
//
// # Life
//
//	         initdb, once
//	Start ------> starting ------> ready ------> stopped
//	                 ^               |    Stop: fast shutdown; immediate
//	                 |   backoff     |    shutdown when its context ends
//	                 +---------------+
//	                the server exited
//
// A server that exits unexpectedly is restarted, with growing pauses and without a limit;
// meanwhile connections are refused. When ragd dies, its server is stopped too: on Linux
// the kernel sends the server a signal. On other systems, or if the server is slow to
// stop, the next Start finds it by its pid file and stops it.
//
// # Backups
//
// TakeBackup copies the cluster of a running server with pg_basebackup and verifies the copy.
// With Config.Archive the server copies its write-ahead log beside the backups. Restore puts
// a backup into a new data directory: it copies, verifies, recovers to the wanted moment on a
// timeline of its own, and only then gives the cluster its name.
//
// # Root
//
// PostgreSQL refuses to run as root. If ragd runs as root, the server runs as the owner of
// the cluster; for a new cluster that is the user postgres, else nobody. On Linux the
// server gets its data directory as an open file descriptor, so that the directory may be
// below folders that this user cannot enter, such as /root.
package embedded
