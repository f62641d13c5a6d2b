package journal

import (
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
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
	// Database is where the tenant lived: transactions of another one have other numbers. Empty for the first one.
	Database string `json:"d,omitempty"`
}

// tokens encode cursors for one credential, with a code against changes.
type tokens struct {
	pages pagination.Tokens
	keep  time.Duration // of events
}

func (t tokens) encode(c cursor) string { return t.pages.Encode(c) }

// decode returns the cursor of a text. Errors: Invalid for one that another credential was
// given; Precondition for one that is older than the events that are kept.
func (t tokens) decode(text string) (c cursor, err error) {
	if err := t.pages.Decode(text, &c); err != nil {
		return cursor{}, fault.Field("cursor", "is not one that this credential was given: leave it out to receive events from now on")
	}
	if time.Since(c.At) > t.keep {
		return cursor{}, fault.New(fault.Precondition, "the cursor is more than %s old, and events are not kept for longer: leave it out to receive events from now on", Hours(t.keep))
	}
	return c, nil
}

// Hours returns a duration for people, such as 72 hours.
func Hours(d time.Duration) string {
	if d%time.Hour != 0 {
		return d.Round(time.Second).String()
	}
	return strconv.Itoa(int(d.Hours())) + " hours"
}
