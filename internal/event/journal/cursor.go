package journal

import (
	"time"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/pagination"
)

// cursor is a position in the events of a tenant. Transactions do not commit in the order in
// which they begin, so that no number of an event is a position: events with lower ones may
// appear later. A snapshot tells exactly which transactions had ended.
//
// A watcher has received the events that are visible in Seen, and those that are visible in
// Target up to Xid and Number. When it has received all that are visible in Target, this
// becomes Seen.
type cursor struct {
	Seen   string    `json:"s"` // a pg_snapshot
	Target string    `json:"t,omitempty"`
	Xid    string    `json:"x,omitempty"`
	Number int64     `json:"n,omitempty"`
	At     time.Time `json:"a"` // when Seen was taken
}

// tokens encode cursors for one credential, with a code against changes.
type tokens struct{ pages pagination.Tokens }

func (t tokens) encode(c cursor) string { return t.pages.Encode(c) }

// decode returns the cursor of a text. Errors: Invalid for one that another credential was
// given; Precondition for one that is older than Retention.
func (t tokens) decode(text string) (c cursor, err error) {
	if err := t.pages.Decode(text, &c); err != nil {
		return cursor{}, fault.Field("cursor", "is not one that this credential was given: leave it out to receive events from now on")
	}
	if time.Since(c.At) > Retention {
		return cursor{}, fault.New(fault.Precondition, "the cursor is more than %d hours old, and events are not kept for longer: leave it out to receive events from now on", int(Retention.Hours()))
	}
	return c, nil
}
