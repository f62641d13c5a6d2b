package connector

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/outbound"
)

// kind is a source of a kind, with its settings.
type kind interface {
	// complete sets the defaults of empty settings and checks them.
	complete(guard *outbound.Guard) error
	// walk calls visit with each item that the source has, each once, until visit fails. An error
	// means that not all items were visited; it is public.
	walk(ctx context.Context, w walking, visit func(Item) error) (listing, error)
}

// listing is what a walk found out about the source as a whole.
type listing struct {
	// keepOthers is set if there may be items that were not visited: no documents are deleted.
	keepOthers bool
	// state is known in the next walk, once the run has done everything else.
	state State
}

// walking is what a walk of a source uses.
type walking struct {
	fetch    *fetcher
	maxItems int
	// source is the state of the last walk's listing.
	source State
	// known returns what the last walk left as the state of an item; empty for a new one.
	known func(ctx context.Context, id string) (State, error)
}

// Item is an item of a source. It has content, or is unchanged, skipped or failed.
type Item struct {
	ID          string // the uri of its document
	Title       string // if the source knows it
	ContentType string
	Content     []byte
	Modified    time.Time // zero if the source does not know it
	Attributes  map[string]any
	State       State // to be known in the next walk

	Unchanged bool   // the source says so
	Skipped   string // why it shall have no document
	Failed    string // why it cannot be read now; the document of an earlier walk stays
}

// State is what is known of an item. It is stored as JSON.
type State struct {
	Known        bool     `json:"known,omitempty"` // an earlier walk had it
	ETag         string   `json:"etag,omitempty"`
	LastModified string   `json:"lastModified,omitempty"`
	Fingerprint  string   `json:"fingerprint,omitempty"` // of the content as it was stored
	Skipped      string   `json:"skipped,omitempty"`
	Links        []string `json:"links,omitempty"`
}
