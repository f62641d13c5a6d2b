package replica

import (
	"context"
	"errors"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// Reason says why a read runs at the primary although it may run at a replica.
type Reason string

// The reasons.
const (
	Behind     Reason = "behind"     // no replica is fresh enough
	Busy       Reason = "busy"       // no connection to a replica is free
	Conflict   Reason = "conflict"   // replaying the log ended the statement
	Down       Reason = "down"       // no replica answers
	Missing    Reason = "missing"    // what the statement uses is not there yet, or no longer
	Other      Reason = "other"      // any other error of the replica
	Promoted   Reason = "promoted"   // the server is no replica any more
	System     Reason = "system"     // the server is a replica of another one
	Timeline   Reason = "timeline"   // the replica follows another timeline of the log
	Token      Reason = "token"      // the write token is of another timeline, so it cannot be compared
	Unobserved Reason = "unobserved" // the primary has not answered the watch within the allowed staleness
)

// Reasons are all reasons.
var Reasons = []Reason{Behind, Busy, Conflict, Down, Missing, Other, Promoted, System, Timeline, Token, Unobserved}

// SQLSTATEs.
const (
	codePromoted = "RG011" // of ragd.check_replica, as the next two
	codeBehind   = "RG012"
	codeTimeline = "RG013"

	codeSerialization    = "40001" // a conflict with recovery
	codeCanceled         = "57014" // a timeout, or a conflict with recovery
	codeInvalidParameter = "22023" // a role that does not exist
	codeUndefinedSchema  = "3F000"
)

// watchReason returns why a replica cannot be used at which the watch failed.
func watchReason(err error) Reason {
	switch {
	case errors.Is(err, errPromoted):
		return Promoted
	case errors.Is(err, errOtherSystem):
		return System
	case errors.Is(err, errOtherTimeline):
		return Timeline
	case postgres.Code(err) == postgres.CodeUndefinedTable, postgres.Code(err) == codeUndefinedSchema:
		return Behind // the control schema is not there yet
	}
	return Down
}

// readReason returns why a read that failed at a replica has to run at the primary; empty if it
// succeeded, or if the primary would fail in the same way. ctx is that of the caller.
func readReason(ctx context.Context, err error) Reason {
	switch {
	case err == nil, ctx.Err() != nil:
		return ""
	case errors.Is(err, errBusy):
		return Busy
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Down // the watch has ended the read
	}
	code := postgres.Code(err)
	if code == "" {
		if fault.KindOf(postgres.Fault(err)) == fault.Unavailable {
			return Down
		}
		return "" // the rows were not what the caller expected
	}
	switch code {
	case codePromoted:
		return Promoted
	case codeBehind:
		return Behind
	case codeTimeline:
		return Timeline
	case codeSerialization, postgres.CodeDeadlock:
		return Conflict
	case codeCanceled:
		if strings.Contains(err.Error(), "timeout") {
			return ""
		}
		return Conflict
	case codeInvalidParameter:
		return Missing
	}
	return reasonOfClass(code)
}

// reasonOfClass is readReason for the class of a SQLSTATE, its first two characters.
func reasonOfClass(code string) Reason {
	switch code[:min(2, len(code))] {
	case "22", "54": // a value or a text of the caller
		return ""
	case "08", "28", "57":
		return Down
	case "3F", "42":
		return Missing
	case "53":
		return Busy
	}
	return Other
}
