package connector

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/automation/connector/manifest"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// apiState is what is known of an API as a whole after a run. It is stored as JSON.
type apiState struct {
	// ListedAt is when a run listed all records.
	ListedAt time.Time `json:"listedAt,omitzero"`
	// Cursors are the newest values of the cursors of streams by their names.
	Cursors map[string]time.Time `json:"cursors,omitempty"`
	// Access are hashes of those who may see the documents of partitions, by hashes of these.
	Access map[string]string `json:"access,omitempty"`
}

// apiWalk is one walk of an API. Its values of expressions are JSON, with numbers as json.Number.
type apiWalk struct {
	walking
	*HTTP

	manifest *manifest.Manifest
	streams  []*manifest.Stream
	emit     func(Item) error
	public   map[string]any      // the configuration without values that have secrets
	private  map[string]string   // those that have
	secrets  map[string][]string // the secrets of these
	values   map[string]string   // of the secrets that may have been sent, by their names and hosts
	tokens   map[string]apiToken
	lookups  map[string]any
	access   map[string]*accessNames

	full    bool // all records are listed
	started time.Time
	last    apiState
	next    apiState
	seen    map[[sha256.Size]byte]bool // hashes of ids
}

// open returns a walk of the API that has read nothing yet. Errors: Invalid for the manifest.
func (h *HTTP) open(ctx context.Context, w walking) (*apiWalk, error) {
	text, err := h.text()
	if err != nil {
		return nil, err
	}
	m, err := manifest.Parse(w.manifests.For(ctx), text)
	if err != nil {
		return nil, err
	}
	x := &apiWalk{
		walking: w, HTTP: h, manifest: m, public: map[string]any{}, private: map[string]string{}, values: map[string]string{},
		tokens: map[string]apiToken{}, lookups: map[string]any{}, access: map[string]*accessNames{}, seen: map[[sha256.Size]byte]bool{}, started: time.Now().UTC(),
	}
	var config map[string]string
	config, x.secrets = h.config()
	for name, value := range config {
		if len(x.secrets[name]) > 0 {
			x.private[name] = value
		} else {
			x.public[name] = value
		}
	}
	x.streams, err = h.chosen(m)
	return x, err
}

// walk implements kind. A stream with a cursor is asked for what changed since the last walk, and for
// everything when RelistHours have passed.
func (h *HTTP) walk(ctx context.Context, w walking, visit func(Item) error) (listing, error) {
	x, err := h.open(ctx, w)
	if err != nil {
		return listing{}, err
	}
	x.fetch.delay = x.manifest.Delay
	if x.last = w.source.API; x.last.Cursors == nil {
		x.last.Cursors = map[string]time.Time{}
	}
	x.full = x.started.Sub(x.last.ListedAt) >= time.Duration(h.RelistHours)*time.Hour ||
		!slices.ContainsFunc(x.streams, func(s *manifest.Stream) bool { return s.Cursor != nil })
	x.next = apiState{ListedAt: x.last.ListedAt, Cursors: maps.Clone(x.last.Cursors), Access: map[string]string{}}
	if x.full {
		x.next.ListedAt = x.started
	}
	x.emit = func(item Item) error { return x.once(item, visit) }
	if err := x.readLookups(ctx); err != nil {
		return listing{}, err
	}
	for _, s := range x.streams {
		err := x.read(ctx, s, x.scope(), func(record map[string]any, scope map[string]any) error {
			return x.document(ctx, s, record, scope)
		})
		if err != nil {
			return listing{}, err
		}
	}
	return listing{keepOthers: !x.full, deleteSkipped: true, state: State{Known: true, API: x.next}}, nil
}

// once visits an item unless the walk has visited it before.
func (x *apiWalk) once(item Item, visit func(Item) error) error {
	hash := sha256.Sum256([]byte(item.ID))
	if x.seen[hash] {
		return nil
	}
	if len(x.seen) == x.maxItems {
		return fault.New(fault.Exhausted, "the source has more than %d items: choose streams, or raise maxItems", x.maxItems)
	}
	x.seen[hash] = true
	return visit(item)
}

// scope returns the values of expressions beside those of a record and a partition.
func (x *apiWalk) scope() map[string]any {
	partition := map[string]any{}
	return map[string]any{
		"config": x.public, "parameters": map[string]any{}, "lookup": x.lookups, "stream_partition": partition, "stream_slice": partition,
		"stream_interval": map[string]any{}, "next_page_token": map[string]any{}, "record": map[string]any{}, "response": map[string]any{},
		"headers": map[string]any{}, "last_page_size": json.Number("0"), "last_record": map[string]any{}, "last_page_token_value": nil,
		"attachment": map[string]any{}, "parent": map[string]any{},
	}
}

// with returns values of expressions with others.
func with(scope map[string]any, others map[string]any) map[string]any {
	out := maps.Clone(scope)
	maps.Copy(out, others)
	return out
}

// readLookups reads the lookups of the manifest.
func (x *apiWalk) readLookups(ctx context.Context) error {
	count := 0
	for _, name := range slices.Sorted(maps.Keys(x.manifest.Lookups)) {
		l := x.manifest.Lookups[name]
		found := map[string]any{}
		err := x.read(ctx, l.Stream, x.scope(), func(record, scope map[string]any) error {
			scope = with(scope, map[string]any{"record": record})
			key, err := l.Key.Text(ctx, scope)
			if err != nil {
				return err
			}
			value, err := l.Value.Value(ctx, scope)
			if err != nil || key == "" {
				return err
			}
			if count++; count > maxLookupValues {
				return fault.New(fault.Exhausted, "the lookups of the manifest have more than %d values", maxLookupValues)
			}
			found[key] = value
			return nil
		})
		if err != nil {
			return err
		}
		x.lookups[name] = found
	}
	return nil
}

// read calls each with the records of a stream, of all its partitions and intervals, and the values of
// expressions that belong to them.
func (x *apiWalk) read(ctx context.Context, s *manifest.Stream, scope map[string]any, each func(record, scope map[string]any) error) error {
	return x.partitions(ctx, s, scope, func(scope map[string]any) error {
		intervals, err := x.intervals(ctx, s, scope)
		if err != nil {
			return err
		}
		for _, in := range intervals {
			if err := x.pages(ctx, s, in, scope, each); err != nil {
				return err
			}
		}
		return nil
	})
}

// partitions calls each once for each partition of a stream.
func (x *apiWalk) partitions(ctx context.Context, s *manifest.Stream, scope map[string]any, each func(scope map[string]any) error) error {
	p := s.Partition
	if p == nil {
		return each(scope)
	}
	if p.Parent == nil {
		for _, value := range p.Values {
			if err := each(inPartition(scope, p.Field, value, map[string]any{})); err != nil {
				return err
			}
		}
		return nil
	}
	// All parents are read, whatever changed: one of their records may have.
	return x.read(ctx, withoutCursor(p.Parent), scope, func(record, within map[string]any) error {
		value := valueAt(record, p.Key)
		if value == nil {
			return nil
		}
		return each(inPartition(with(scope, map[string]any{"stream_partition": within["stream_partition"]}), p.Field, value, record))
	})
}

// inPartition returns values of expressions with those of a partition, which belongs to a record.
func inPartition(scope map[string]any, field string, value any, parent map[string]any) map[string]any {
	partition := maps.Clone(scope["stream_partition"].(map[string]any))
	partition[field] = value
	return with(scope, map[string]any{"stream_partition": partition, "stream_slice": partition, "parent": parent})
}

// withoutCursor returns a stream of which all records are read.
func withoutCursor(s *manifest.Stream) *manifest.Stream {
	if s.Cursor == nil {
		return s
	}
	all := *s
	all.Cursor = nil
	return &all
}

// valueAt returns the value at a path in a record, nil if there is none.
func valueAt(record map[string]any, path []string) any {
	var at any = record
	for _, step := range path {
		in, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = in[step]
	}
	return at
}

// interval is a time in which records changed. Zero times are no bounds.
type interval struct{ from, to time.Time }

// intervals returns the intervals for which a stream is asked, one without bounds for a stream without cursor.
func (x *apiWalk) intervals(ctx context.Context, s *manifest.Stream, scope map[string]any) ([]interval, error) {
	c := s.Cursor
	if c == nil {
		return []interval{{}}, nil
	}
	text, err := c.Start.Text(ctx, scope)
	if err != nil {
		return nil, err
	}
	from, ok := manifest.ParseTime([]string{c.StartsIn}, text)
	if !ok {
		return nil, fault.New(fault.Precondition, "stream %s: start_datetime is no time of the format %s", s.Name, c.StartsIn)
	}
	same, err := x.sameAccess(ctx, s, scope)
	if err != nil {
		return nil, err
	}
	if last, ok := x.last.Cursors[s.Name]; ok && !x.full && same {
		if since := last.Add(-c.Lookback); since.After(from) {
			from = since
		}
	}
	if c.Step == 0 {
		return []interval{{from, x.started}}, nil
	}
	var all []interval
	for at := from; !at.After(x.started); at = at.Add(c.Step) {
		if len(all) == maxIntervals {
			return nil, fault.New(fault.Precondition, "stream %s: step divides the time since start_datetime into more than %d intervals", s.Name, maxIntervals)
		}
		to := at.Add(c.Step - c.Precision)
		if to.After(x.started) {
			to = x.started
		}
		all = append(all, interval{at, to})
	}
	return all, nil
}

// errPagesEnd ends the pages of a list whose further records are known.
var errPagesEnd = errors.New("the pages end")

// record calls each with a record of a stream, transformed, unless it is filtered out. Errors: errPagesEnd.
func (x *apiWalk) record(ctx context.Context, s *manifest.Stream, in interval, record, scope map[string]any, each func(record, scope map[string]any) error) error {
	scope = with(scope, map[string]any{"record": record})
	if !s.Selector.Filter.IsZero() {
		wanted, err := s.Selector.Filter.True(ctx, scope)
		if err != nil || !wanted {
			return err
		}
	}
	for _, t := range s.Transformations {
		if err := transform(ctx, record, t, scope); err != nil {
			return err
		}
	}
	if c := s.Cursor; c != nil {
		text, err := manifest.Text(valueAt(record, c.Field))
		if err != nil {
			return err
		}
		if at, ok := manifest.ParseTime(c.Formats, text); ok {
			switch {
			case at.Before(in.from) && c.DataFeed:
				return errPagesEnd
			case at.Before(in.from) && c.ClientSide:
				return nil
			}
			if at.After(x.next.Cursors[s.Name]) && !at.After(x.started.Add(time.Hour)) {
				x.next.Cursors[s.Name] = at
			}
		}
	}
	return each(record, scope)
}

// transform adds a value to a record, or removes one.
func transform(ctx context.Context, record map[string]any, t manifest.Transformation, scope map[string]any) error {
	if len(t.Path) == 0 {
		return nil
	}
	in := record
	for _, step := range t.Path[:len(t.Path)-1] {
		next, ok := in[step].(map[string]any)
		if !ok {
			if t.Remove {
				return nil
			}
			next = map[string]any{}
			in[step] = next
		}
		in = next
	}
	name := t.Path[len(t.Path)-1]
	if t.Remove {
		delete(in, name)
		return nil
	}
	value, err := t.Value.Value(ctx, scope)
	in[name] = value
	return err
}

// decodeJSON returns the value in JSON, with numbers as json.Number.
func decodeJSON(raw []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// selected returns the records at a path of an answer, in which * stands for all elements.
func selected(value any, path []string) []map[string]any {
	if len(path) > 0 {
		switch in := value.(type) {
		case map[string]any:
			if path[0] != "*" {
				return selected(in[path[0]], path[1:])
			}
			var all []map[string]any
			for _, name := range slices.Sorted(maps.Keys(in)) {
				all = append(all, selected(in[name], path[1:])...)
			}
			return all
		case []any:
			var all []map[string]any
			for _, one := range in {
				if path[0] == "*" {
					all = append(all, selected(one, path[1:])...)
				}
			}
			return all
		}
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		return []map[string]any{value}
	case []any:
		var all []map[string]any
		for _, one := range value {
			if record, ok := one.(map[string]any); ok {
				all = append(all, record)
			}
		}
		return all
	}
	return nil
}
