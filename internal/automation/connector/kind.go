package connector

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/tool/expression"
)

// kind is a source of a kind, with its settings.
type kind interface {
	// complete sets the defaults of empty settings and checks them.
	complete(guard *outbound.Guard) error
	// walk calls visit with each item that the source has, each once, until visit fails. An error
	// means that not all items were visited; it is public.
	walk(ctx context.Context, w walking, visit func(Item) error) (listing, error)
}

// keyed is a kind that sends a secret to an address.
type keyed interface {
	// key returns the name of the secret, empty for none, and the address.
	key() (name string, to *url.URL)
}

// listing is what a walk found out about the source as a whole.
type listing struct {
	// keepOthers is set if there may be items that were not visited: no documents are deleted.
	keepOthers bool
	// state is known in the next walk, once the run has done everything else.
	state State
	// deleteSkipped is set if the documents of skipped items are deleted although there may be items that
	// were not visited.
	deleteSkipped bool
}

// walking is what a walk of a source uses.
type walking struct {
	fetch *fetcher
	// dial opens a session with an MCP server.
	dial func(ctx context.Context, m *MCP) (*mcpSession, error)
	// offer stores what an MCP server offers besides; nil in a test.
	offer    func(ctx context.Context, has offers) error
	maxItems int
	preview  bool // the walk is a test, and ends after a few items
	guard    *outbound.Guard
	// connector is the name of the connector.
	connector string
	// secret returns a secret of the tenant that is to be sent to an address.
	secret func(ctx context.Context, name string, to *url.URL) (string, error)
	// address returns the address in a secret of the tenant.
	address func(ctx context.Context, name string) (*url.URL, error)
	// allow checks that the source may be at a path of the machine, which a field names.
	allow func(ctx context.Context, field, path string) error
	// open opens a folder that the operator allows.
	open func(ctx context.Context, f *Folder) (*os.Root, error)
	// watch starts another run when a folder below the opened one changes; nil in a test.
	watch func(folder string)
	// source is the state of the last walk's listing.
	source State
	// manifests compiles the expressions of manifests.
	manifests *expression.Environment
	// known returns what the last walk left as the state of an item; empty for a new one.
	known func(ctx context.Context, id string) (State, error)
	// expect loads the states of items for which known is called next, all at once.
	expect func(ctx context.Context, ids []string) error
	// from is where the walk goes on, nil for its beginning.
	from *position
	// reached says that the walk, if it is interrupted, can go on from a position. Those before it were visited.
	reached func(ctx context.Context, at position) error
	// own stores that the service creates a replication slot in the source.
	own func(ctx context.Context, slot string) error
}

// ahead returns how many items to read before they are visited: as many as are given, fewer in a test.
func (w walking) ahead(most int) int {
	if w.preview {
		return min(most, maxTestItems)
	}
	return most
}

// position is a position in the list of a source's items. It is stored as JSON.
type position struct {
	After  string  `json:"after"`           // the last item
	Items  int     `json:"items"`           // up to there
	Rows   rowList `json:"rows,omitzero"`   // what the walk lists
	Run    int64   `json:"run,omitempty"`   // in which the walk began
	Counts Counts  `json:"counts,omitzero"` // up to there
}

// Item is an item of a source. It has content, or is unchanged, skipped or failed.
type Item struct {
	ID          string // the uri of its document
	Title       string // if the source knows it
	FileName    string // of a file, whose title is its own
	ContentType string
	Content     []byte
	Modified    time.Time // zero if the source does not know it
	Attributes  map[string]any
	Metadata    map[string]any // of its document, from the system that has exported it
	State       State          // to be known in the next walk

	Unchanged bool   // the source says so
	Below     bool   // so are all items below it
	Skipped   string // why it shall have no document
	Failed    string // why it cannot be read now; the document of an earlier walk stays
}

// State is what is known of an item. It is stored as JSON.
type State struct {
	Known        bool   `json:"known,omitempty"` // an earlier walk had it
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
	Fingerprint  string `json:"fingerprint,omitempty"` // of the content as it was stored
	Skipped      string `json:"skipped,omitempty"`
	// Failed is why the content with FailedETag cannot be stored.
	Failed     string    `json:"failed,omitempty"`
	FailedETag string    `json:"failedEtag,omitempty"`
	Links      []string  `json:"links,omitempty"`
	Follow     bool      `json:"follow,omitempty"`   // the source as a whole announces changes
	API        apiState  `json:"api,omitzero"`       // of the source as a whole
	Rows       rowList   `json:"rows,omitzero"`      // of the source as a whole
	Position   *position `json:"position,omitempty"` // of the source as a whole, while a run has not ended
	Slot       string    `json:"slot,omitempty"`     // of the source as a whole: the replication slot that the service has created
	Export     bool      `json:"export,omitempty"`   // it has items below it, which are visited with it while it is unchanged
}

// unchanged returns what is known of an item whose content still has an ETag; ok is false for
// content that is new.
func (s State) unchanged(id, etag string) (item Item, ok bool) {
	switch {
	case etag == "":
		return Item{}, false
	case s.ETag == etag:
		return Item{ID: id, Unchanged: s.Skipped == "", Below: s.Export, Skipped: s.Skipped, State: s}, true
	case s.FailedETag == etag:
		return Item{ID: id, Failed: s.Failed, State: s}, true
	}
	return Item{}, false
}

// tooLarge returns an item that is not read because of its size.
func (i Item) tooLarge() Item {
	i.Failed, i.Content = fmt.Sprintf("has more than %d bytes", maxItemBytes), nil
	i.State = State{Known: true, Failed: i.Failed, FailedETag: i.State.ETag}
	return i
}
