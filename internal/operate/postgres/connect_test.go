package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
)

// rejecting returns the address of a server that offers no encryption and rejects every
// connection.
func rejecting(t *testing.T, code, message string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			backend := pgproto3.NewBackend(conn, conn)
			first, err := backend.ReceiveStartupMessage()
			if _, ok := first.(*pgproto3.SSLRequest); ok && err == nil {
				_, _ = conn.Write([]byte("N"))
				_, err = backend.ReceiveStartupMessage()
			}
			if err == nil {
				backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: message})
				_ = backend.Flush()
			}
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

func TestWhyAConnectionFailedIsSaidOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, code, message, options, want string }{
		{"wrong password", "28P01", `password authentication failed for user "app"`, "", `the database server at ADDRESS rejects the password of the role "app": correct it in database-url`},
		{"TLS required", "28000", `no pg_hba.conf entry for host "10.0.0.1", user "app", database "ragd", no encryption`, "", `the database server at ADDRESS takes no unencrypted connection of the role "app" to the database "ragd": add sslmode=require or sslmode=verify-full to database-url, or allow it in the server's pg_hba.conf`},
		{"unknown role", "28000", `role "app" does not exist`, "", `the database server at ADDRESS rejects the role "app": role "app" does not exist: correct database-url, or the server's roles and pg_hba.conf`},
		{"unknown database", "3D000", `database "ragd" does not exist`, "", `the database server at ADDRESS has no database "ragd": create it (CREATE DATABASE), or correct database-url`},
		{"starting", "57P03", `the database system is starting up`, "", `the database server at ADDRESS is not ready (the database system is starting up): try again when it is`},
		{"full", "53300", `sorry, too many clients already`, "", `the database server at ADDRESS has no connection left for the role "app" (sorry, too many clients already): raise max_connections there, or end other clients`},
		{"no TLS offered", "", "", "?sslmode=require", `no encrypted connection to the database server at ADDRESS: the server offers no encryption: enable ssl there, or set sslmode=disable if the network is private (database-url)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address := rejecting(t, c.code, c.message)
			_, err := postgres.Open(t.Context(), postgres.Config{URL: "postgres://app:hunter2@" + address + "/ragd" + c.options})
			if fault.KindOf(err) != fault.Unavailable || err.Error() != strings.ReplaceAll(c.want, "ADDRESS", address) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
	for address, want := range map[string]string{
		"127.0.0.1:1":             "the database server at 127.0.0.1:1 cannot be reached: connection refused: check that PostgreSQL runs there, and the address in database-admin-url",
		"127.0.0.1:1,127.0.0.1:2": "the database server at 127.0.0.1:1, 127.0.0.1:2 cannot be reached: connection refused: check that PostgreSQL runs there, and the address in database-admin-url",
		"nowhere.invalid:5432":    "the database server at nowhere.invalid:5432 cannot be reached: the host name nowhere.invalid is not known: check that PostgreSQL runs there, and the address in database-admin-url",
	} {
		_, err := postgres.Open(t.Context(), postgres.Config{URL: "postgres://app:hunter2@" + address + "/ragd", Setting: "database-admin-url"})
		if err == nil || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	}
}

// A real server gives the reasons that the test above imitates.
func TestAServerThatAsksForAPassword(t *testing.T) {
	t.Parallel()
	if _, err := embedded.Default(); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "ragd-password-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	quiet := slog.New(slog.DiscardHandler)
	server, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	admin := connect(t, server.AdminURL())
	exec(t, admin, `CREATE ROLE app LOGIN PASSWORD 'hunter2'; CREATE ROLE walled LOGIN PASSWORD 'hunter2'`)
	rules := "local all ragd trust\nlocal all walled reject\nlocal all all scram-sha-256\n"
	if err := os.WriteFile(filepath.Join(dir, "cluster", "pg_hba.conf"), []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	exec(t, admin, `SELECT pg_reload_conf()`)
	exec(t, admin, `SELECT pg_sleep(0.2)`)
	socket := filepath.Join(dir, "cluster")
	for _, c := range []struct{ role, password, database, want string }{
		{"app", "hunter3", "ragd", fmt.Sprintf(`the database server at %s rejects the password of the role "app"`, socket)},
		{"app", "hunter2", "nothing", `has no database "nothing"`},
		{"walled", "hunter2", "ragd", `takes no unencrypted connection of the role "walled"`},
		{"nobody", "hunter2", "ragd", `rejects the password of the role "nobody"`},
	} {
		address := url.URL{Scheme: "postgres", User: url.UserPassword(c.role, c.password), Path: "/" + c.database, RawQuery: "host=" + url.QueryEscape(socket)}
		_, err := postgres.Open(t.Context(), postgres.Config{URL: address.String(), Logger: quiet})
		if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: error %v, want %s", c.role, err, c.want)
		}
	}
}
