package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestFaultKinds(t *testing.T) {
	t.Parallel()
	server := func(code string) error {
		return fmt.Errorf("insert: %w", &pgconn.PgError{Code: code, Message: `Key (uri)=(secret) in tenant_acme`})
	}
	for _, tc := range []struct {
		name string
		err  error
		want fault.Kind
	}{
		{"nothing", nil, fault.Internal},
		{"a unique violation", server("23505"), fault.Exists},
		{"a deleted parent row", server("23503"), fault.Conflict},
		{"a statement timeout", server("57014"), fault.Deadline},
		{"a serialisation failure", server("40001"), fault.Conflict},
		{"a deadlock", server("40P01"), fault.Conflict},
		{"a lock timeout", server("55P03"), fault.Conflict},
		{"a bad regular expression", server("2201B"), fault.Invalid},
		{"a NUL in JSON", server("22P05"), fault.Invalid},
		{"a NUL in text", server("22021"), fault.Invalid},
		{"a number that does not fit", server("22003"), fault.Invalid},
		{"a text too long for tsvector", server("54000"), fault.Invalid},
		{"a filter nested too deeply", server("54001"), fault.Invalid},
		{"a full disk", server("53100"), fault.Exhausted},
		{"too many connections", server("53300"), fault.Unavailable},
		{"a shutdown by an administrator", server("57P01"), fault.Unavailable},
		{"a server that is starting", server("57P03"), fault.Unavailable},
		{"a broken connection, as the server sees it", server("08006"), fault.Unavailable},
		{"a broken connection to a worker", &pgconn.PgError{Code: "XX000", Message: "failure on connection marked as essential: db1:5432"}, fault.Unavailable},
		{"a role that is dropped meanwhile", &pgconn.PgError{Code: "XX000", Message: "invalid role OID: 12345"}, fault.Conflict},
		{"another internal error of the server", server("XX000"), fault.Internal},
		{"a demoted primary", server("25006"), fault.Unavailable},
		{"a missing privilege", server("42501"), fault.Internal},
		{"an undefined table", server("42P01"), fault.Internal},
		{"a syntax error", server("42601"), fault.Internal},
		{"a code that is too short", server("7"), fault.Internal},
		{"a refused connection", fmt.Errorf("dial: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), fault.Unavailable},
		{"a connection cut in mid-answer", fmt.Errorf("read: %w", io.ErrUnexpectedEOF), fault.Unavailable},
		{"a connection that was closed before", fmt.Errorf("query: %w", pgconn.ErrConnClosed), fault.Unavailable},
		{"no rows", pgx.ErrNoRows, fault.Internal},
		{"a canceled request", fmt.Errorf("query: %w", context.Canceled), fault.Canceled},
		{"an expired deadline", fmt.Errorf("query: %w", context.DeadlineExceeded), fault.Deadline},
		{"a fault", fault.New(fault.NotFound, "gone"), fault.NotFound},
		{"anything else", errors.New("other"), fault.Internal},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := Fault(tc.err)
			if kind := fault.KindOf(got); kind != tc.want {
				t.Errorf("kind = %v, want %v", kind, tc.want)
			}
			if tc.err != nil && !errors.Is(got, tc.err) {
				t.Error("the cause is lost")
			}
			var f *fault.Error
			if tc.want == fault.Internal && errors.As(got, &f) {
				t.Errorf("kind = %v, want the error unchanged", f.Kind)
			}
		})
	}
}
