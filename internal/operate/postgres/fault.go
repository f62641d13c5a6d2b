package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// SQLSTATEs that callers of this package branch on. [Fault] translates the others.
const (
	CodeUndefinedTable        = "42P01" // a table or its schema does not exist
	CodeUndefinedObject       = "42704" // a role does not exist
	CodeUniqueViolation       = "23505"
	CodeForeignKeyViolation   = "23503"
	CodeInsufficientPrivilege = "42501" // the role may not run the statement
	CodeDeadlock              = "40P01"
	CodeDiskFull              = "53100"

	codeDuplicateSchema = "42P06"
	codeInvalidRegex    = "2201B"
)

// Code returns the SQLSTATE that the server gave for err, or "" when the server
// gave none.
func Code(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

type translation struct {
	kind    fault.Kind
	message string
}

// translations maps SQLSTATEs, or their first two or three characters, to the fault
// that callers get. The messages are public and name no table or column.
var translations = map[string]translation{
	"08":    {fault.Unavailable, "the connection to the database broke; retry"},
	"22003": {fault.Invalid, "a number is out of range"},
	"22021": {fault.Invalid, "the text holds a NUL character or is not valid UTF-8"},
	"22P05": {fault.Invalid, "the text holds a NUL character (\\u0000), which cannot be stored"},
	"23503": {fault.Conflict, "an object that this refers to was deleted meanwhile; retry"},
	"23505": {fault.Exists, "it exists already"},
	"25006": {fault.Unavailable, "the database accepts no writes at the moment; retry"},
	"28":    {fault.Unavailable, "the database is not available"},
	"3D000": {fault.Unavailable, "the database is not available"},
	"40001": {fault.Conflict, "it was changed by another request meanwhile; retry"},
	"40P01": {fault.Conflict, "it was changed by another request meanwhile; retry"},
	"53":    {fault.Unavailable, "the database is short of resources; retry later"},
	"53100": {fault.Exhausted, "the disk of the PostgreSQL server is full: its operator must free or add space"},
	"54000": {fault.Invalid, "the text or the query is too large"},
	"54001": {fault.Invalid, "the query is nested too deeply"},
	"55P03": {fault.Conflict, "it is locked by another request; retry"},
	"57014": {fault.Deadline, "the query took too long"},
	"57P":   {fault.Unavailable, "the database is restarting; retry"},
	"RG001": {fault.Unavailable, "the tenant was moved to another database; retry"},
	"RG002": {fault.Unavailable, "the tenant is being moved to another database; retry"},
	"58":    {fault.Unavailable, "the database had a system error; retry later"},
}

// Fault wraps an error of the driver in a fault of the matching kind, with a public
// message; the driver's error stays as the cause, for the log. It returns these
// unchanged: nil, faults, context errors, [pgx.ErrNoRows], an undefined table
// ([CodeUndefinedTable], which means different things to different callers), and
// errors that can only be bugs of the service, such as a syntax error or a missing
// privilege. The latter count as Internal.
func Fault(err error) error {
	var f *fault.Error
	switch {
	case err == nil, errors.As(err, &f), errors.Is(err, pgx.ErrNoRows),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if code := Code(err); code == codeInvalidRegex {
		return invalidRegex(err)
	} else if code != "" {
		for _, key := range [...]string{code, code[:min(3, len(code))], code[:min(2, len(code))]} {
			if t, ok := translations[key]; ok {
				return fault.Wrap(t.kind, err, "%s", t.message)
			}
		}
		return citusFault(err)
	}
	if disconnected(err) {
		return fault.Wrap(fault.Unavailable, err, "the database is not answering; retry")
	}
	return err
}

// invalidRegex returns a fault of the field filter: callers have no other regular
// expressions that reach the database. The server's reason comes from a fixed list, so
// it is safe to show.
func invalidRegex(err error) error {
	var pe *pgconn.PgError
	reason := "it is malformed"
	if errors.As(err, &pe) {
		reason = strings.TrimPrefix(pe.Message, "invalid regular expression: ")
	}
	f := fault.Field("filter", "has a regular expression that is not valid: %s", reason)
	f.Cause = err
	return f
}

// disconnected reports whether the server could not be reached or closed the connection.
func disconnected(err error) bool {
	var connect *pgconn.ConnectError
	var netErr net.Error
	return errors.As(err, &connect) || errors.As(err, &netErr) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, puddle.ErrClosedPool)
}
