package postgres

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestMalformedURLsAreExplainedWithoutThePassword(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, url, want string }{
		{"empty", " ", "no database URL was given"},
		{"an unescaped slash", "postgres://ragd:hunter2/x@db:5432/ragd", "percent-encoded"},
		{"an unescaped percent sign", "postgres://ragd:hunter2%zz@db/ragd", "percent-encoded"},
		{"an unescaped at sign", "postgres://ragd:x@hunter2@db:5432/ragd", "@ is %40"},
		{"another scheme", "mysql://ragd:hunter2@db/ragd", "want postgres://"},
		{"a bad port", "postgres://ragd:hunter2@db:0x1/ragd", "percent-encoded"},
		{"a bad sslmode", "postgres://ragd:hunter2@db/ragd?sslmode=perhaps", "sslmode is invalid"},
		{"a missing certificate", "postgres://ragd:hunter2@db/ragd?sslrootcert=/nonexistent&sslmode=verify-full", "CA"},
		{"keywords out of order", "host password=hunter2", "want postgres://"},
		{"a bad keyword value", "host=db password=hunter2 sslmode=perhaps", "want postgres://"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := parseURL(tc.url, "database-url")
			if fault.KindOf(err) != fault.Invalid {
				t.Fatalf("error %v, want one of kind invalid", err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is in %q", err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q does not say %q", err, tc.want)
			}
		})
	}
}

// A password with any character that is not escaped either works or is never shown.
func TestUnescapedPasswordsAreNeverShown(t *testing.T) {
	t.Parallel()
	for c := rune(' '); c <= '~'; c++ {
		password := "first" + string(c) + "second"
		pc, err := parseURL("postgres://ragd:"+password+"@127.0.0.1:1/ragd", "database-url")
		if err == nil && pc.ConnConfig.Password == password && pc.ConnConfig.Host == "127.0.0.1" {
			continue
		}
		if err == nil { // understood in another way: then it must not show up in the address
			err = errors.New(addresses(pc.ConnConfig) + pc.ConnConfig.User + pc.ConnConfig.Database)
		}
		if strings.Contains(err.Error(), "first") || strings.Contains(err.Error(), "second") {
			t.Errorf("%q: error %v shows a part of the password", password, err)
		}
	}
}

// version answers the query for the server's version.
type version struct {
	number int
	name   string
}

// QueryRow implements Querier.
func (v version) QueryRow(context.Context, string, ...any) pgx.Row { return v }

// Scan implements pgx.Row.
func (v version) Scan(targets ...any) error {
	*targets[0].(*int), *targets[1].(*string) = v.number, v.name
	return nil
}

func TestAnOldServerIsRejected(t *testing.T) {
	t.Parallel()
	err := checkServer(t.Context(), version{140011, "14.11"})
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "PostgreSQL 14.11, which is too old: ragd needs 15 or newer") {
		t.Errorf("error %v", err)
	}
	if err := checkServer(t.Context(), version{150000, "15.0"}); err != nil {
		t.Error(err)
	}
}

func TestVectorVersions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name               string
		created, available string
		refused, warned    bool
	}{
		{"newest", "0.8.6", "0.8.6", false, false},
		{"the first with the fix", "0.8.4", "0.8.4", false, false},
		{"before the fix", "0.8.3", "0.8.3", false, true},
		{"the minimum", "0.8.0", "0.8.0", false, true},
		{"old SQL objects, fixed library", "0.8.0", "0.8.6", false, false},
		{"files removed from the server", "0.8.0", "", false, true},
		{"below the minimum", "0.7.4", "0.7.4", true, false},
		{"two numbers", "0.9", "0.9", false, false},
		{"the next major", "1.0.0", "1.0.0", false, false},
		{"a number of two digits", "0.10.0", "0.10.0", false, false},
		{"unreadable", "new", "new", true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			err := checkVector(vectorExtension{created: tc.created, available: tc.available}, slog.New(slog.NewTextHandler(&log, nil)))
			if refused := fault.KindOf(err) == fault.Precondition; refused != tc.refused {
				t.Errorf("error %v, want refusal %v", err, tc.refused)
			}
			if tc.refused && !strings.Contains(err.Error(), "ragd doctor --fix") {
				t.Errorf("error %q does not name ragd doctor --fix", err)
			}
			if warned := strings.Contains(log.String(), "level=WARN"); warned != tc.warned {
				t.Errorf("log %q, want a warning: %v", log.String(), tc.warned)
			}
		})
	}
}

func TestLineOf(t *testing.T) {
	t.Parallel()
	const text = "é\nb\n\nd"
	for position, want := range map[int]int{1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 6: 4, 99: 4} {
		if got := lineOf(text, position); got != want {
			t.Errorf("lineOf(%d) = %d, want %d", position, got, want)
		}
	}
}
