// Package vector writes ready-made vectors: ragd as a plain vector store.
// internal/query reads them.
//
// Vectors live in the chunk tables, beside the chunks of documents that
// internal/ingest writes. This package never changes chunks of documents.
package vector

import (
	"bytes"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/pgvector/pgvector-go"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/metadata"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// Limits of a call. Sizes are bytes.
const (
	MaxEntries       = 10_000
	maxIDBytes       = 1024
	maxDocumentBytes = 256 << 10
)

// Entry is a vector as a caller sends it.
type Entry struct {
	ID       string // a new UUID if empty
	Values   []float32
	Sparse   *index.Sparse // instead of Values, or beside them
	Metadata map[string]any
	Document string // the text; may be empty
}

// Selection says which entries of an index a call changes or deletes.
type Selection struct {
	IDs         []string
	Filter      filter.Filter
	FilterGiven bool   // tells an empty filter from none
	Namespace   string // index.DefaultNamespace if empty
}

// row is a validated entry, as it is stored.
type row struct {
	id       string
	values   []float32
	sparse   *pgvector.SparseVector // beside values; nil for none
	metadata string                 // JSON
	document string
	searched string // the text for keyword search
}

// searched returns the text of an entry for keyword search: clients of vector stores keep it in the
// metadata.
func searched(document string, metadata map[string]any) string {
	if document == "" {
		document, _ = metadata["text"].(string)
	}
	return document
}

// rows validates entries. It returns them in the order of their ids, in which all
// writers lock them, and the ids in the order of the entries. Of entries with the
// same id the last one wins. Errors: Invalid or Denied, naming the field.
func (t target) rows(entries []Entry) ([]row, []string, error) {
	if len(entries) == 0 || len(entries) > MaxEntries {
		return nil, nil, fault.Field("entries", "must be 1 to %d, got %d", MaxEntries, len(entries))
	}
	ids := make([]string, len(entries))
	byID := make(map[string]row, len(entries))
	for n, e := range entries {
		r, err := e.row(t.index)
		if err == nil {
			err = t.principal.CheckWrite("metadata", e.Metadata)
		}
		if err != nil {
			return nil, nil, fault.Under(entryField(n), err)
		}
		ids[n], byID[r.id] = r.id, r
	}
	out := make([]row, 0, len(byID))
	for _, r := range byID {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b row) int { return strings.Compare(a.id, b.id) })
	return out, ids, nil
}

func (e Entry) row(into index.Index) (row, error) {
	r := row{id: e.ID, values: e.Values, document: e.Document}
	if r.id == "" {
		r.id = uuid.Must(uuid.NewV7()).String()
	}
	if err := textlimit.Check("id", r.id, maxIDBytes); err != nil {
		return r, err
	}
	if err := textlimit.Check("document", r.document, maxDocumentBytes); err != nil {
		return r, err
	}
	if e.Sparse != nil {
		var err error
		if len(e.Values) > 0 {
			r.sparse, err = into.Beside("sparseValues", *e.Sparse)
		} else {
			r.values, err = into.Dense("sparseValues", *e.Sparse)
		}
		if err != nil {
			return r, err
		}
	}
	if err := into.CheckVector("values", r.values); err != nil {
		return r, err
	}
	raw, err := e.marshal()
	if err != nil {
		return r, err
	}
	if err := into.CheckMetadata(e.Metadata); err != nil {
		return r, err
	}
	r.metadata, r.searched = string(raw), searched(e.Document, e.Metadata)
	return r, err
}

// marshal returns the metadata as JSON, in which it makes texts of times.
func (e *Entry) marshal() ([]byte, error) {
	raw, err := metadata.Marshal("metadata", e.Metadata)
	if err != nil || !bytes.Contains(raw, []byte(`"$date"`)) {
		return raw, err
	}
	if e.Metadata, err = filter.WithDates("metadata", e.Metadata); err != nil {
		return nil, err
	}
	return metadata.Marshal("metadata", e.Metadata)
}

// check validates a selection and fills in its namespace: it rejects an empty filter
// and empty ids. verb is used in error texts. Errors: Invalid.
func (s *Selection) check(verb string) error {
	if s.FilterGiven && s.Filter.IsZero() {
		return fault.Field("filter", "Cannot %s with empty filter", verb)
	}
	for n, id := range s.IDs {
		if id == "" {
			return fault.Field("ids", "id %d is empty", n)
		}
		if err := textlimit.Check("ids", id, maxIDBytes); err != nil {
			return err
		}
	}
	var err error
	s.Namespace, err = index.Namespace(s.Namespace)
	return err
}
