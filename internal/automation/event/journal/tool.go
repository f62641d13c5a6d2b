package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of events of tools that wait to be written, of an instance.
const (
	maxWaitingBytes          = 32 << 20
	maxWaitingBytesPerTenant = 8 << 20
	// maxRecordedBytes bounds the arguments and the result of one event. Larger ones are
	// shortened.
	maxRecordedBytes = 256 << 10
)

const (
	// unwantedFor is how long an instance remembers that nobody wants a tenant's events of
	// tools, unless it is told of a hook or a watcher.
	unwantedFor = time.Minute
	maxUnwanted = 10_000
	// writePause is how long events are collected before they are written.
	writePause = 50 * time.Millisecond
	// maxWritten is how many events one statement writes, and writers how many statements
	// run at once.
	maxWritten   = 50
	writers      = 4
	writeTimeout = 30 * time.Second
	// perEvent is what an event takes besides its arguments and its result.
	perEvent = 512
)

// ToolCall is a step of a call of a tool.
type ToolCall struct {
	Tenant    tenant.ID
	Type      string // tool.input, tool.output or tool.error
	CallID    string // the same for all steps
	Tool      string
	ShownAs   string // the tool's name in the server
	Server    string // "" for none
	Index     string // "" for none
	Subject   string // of the caller
	Arguments json.RawMessage
	Result    json.RawMessage // of tool.output; nil for none
	Text      string          // of tool.output, for tools without Result
	Took      time.Duration
	Err       error // of tool.error

	at      time.Time
	dropped int // events that were dropped before this one
}

func (c *ToolCall) bytes() int { return len(c.Arguments) + len(c.Result) + len(c.Text) + perEvent }

// Recorder writes events of tools, after the calls that they tell of. Events that the
// database does not take as fast as they happen are dropped. Safe for concurrent use.
type Recorder struct {
	db       *data.DB
	log      *slog.Logger
	unwanted *cache.Cache[tenant.ID, bool]
	heard    atomic.Int64 // how often unwanted was corrected
	any      chan struct{}

	mu      sync.Mutex
	waiting map[tenant.ID]*waiting
	bytes   int
}

// waiting are the events of a tenant that are not written yet.
type waiting struct {
	calls   []ToolCall
	bytes   int
	dropped int
}

// NewRecorder returns a Recorder that writes nothing until Run.
func NewRecorder(db *data.DB, events *event.Listener, log *slog.Logger) *Recorder {
	r := &Recorder{
		db: db, log: log, any: make(chan struct{}, 1), waiting: map[tenant.ID]*waiting{},
		unwanted: cache.New(cache.Config[tenant.ID, bool]{Entries: maxUnwanted, TTL: unwantedFor}),
	}
	events.Subscribe(func(e event.Event) {
		switch {
		case e.Missed() && e.Tenant == "":
			r.heard.Add(1)
			r.unwanted.Clear()
		case e.Missed() || e.Kind == event.Hook || e.Kind == event.Watcher:
			r.heard.Add(1)
			r.unwanted.Remove(e.Tenant)
		}
	})
	return r
}

// Wants reports whether somebody may want events of tools of a tenant. It takes well under a
// microsecond.
func (r *Recorder) Wants(id tenant.ID) bool {
	_, unwanted := r.unwanted.Get(id)
	return !unwanted
}

// Record hands an event to Run. It does not block, and copies what it keeps.
func (r *Recorder) Record(c ToolCall) {
	c.Arguments, c.Result, c.at = bytes.Clone(c.Arguments), bytes.Clone(c.Result), time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.waiting[c.Tenant]
	if w == nil {
		w = &waiting{}
		r.waiting[c.Tenant] = w
	}
	size := c.bytes()
	if w.bytes+size > maxWaitingBytesPerTenant || r.bytes+size > maxWaitingBytes {
		w.dropped++
		return
	}
	c.dropped, w.dropped = w.dropped, 0
	w.calls = append(w.calls, c)
	w.bytes += size
	r.bytes += size
	select {
	case r.any <- struct{}{}:
	default:
	}
}

// Run writes events until ctx ends, and then those that wait.
func (r *Recorder) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-r.any:
			_ = pause(ctx, writePause)
		}
		r.write(context.WithoutCancel(ctx))
	}
	return nil
}

// write writes what waits.
func (r *Recorder) write(ctx context.Context) {
	r.mu.Lock()
	taken := r.waiting
	r.waiting = map[tenant.ID]*waiting{}
	for id, w := range taken {
		if len(w.calls) == 0 && w.dropped > 0 { // told of in the next event
			r.waiting[id] = &waiting{dropped: w.dropped}
		}
	}
	r.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(writers)
	for id, w := range taken {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, writeTimeout)
			defer cancel()
			r.writeTenant(ctx, id, w)
			return nil
		})
	}
	_ = group.Wait()
}

// writeTenant writes the events of one tenant. Their bytes count until then.
func (r *Recorder) writeTenant(ctx context.Context, id tenant.ID, w *waiting) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bytes -= w.bytes
	}()
	for calls := w.calls; len(calls) > 0; {
		batch := calls[:min(len(calls), maxWritten)]
		calls = calls[len(batch):]
		if !r.Wants(id) {
			return
		}
		heard := r.heard.Load()
		n, err := r.insert(ctx, id, batch)
		if kind := fault.KindOf(err); err != nil && kind == fault.Internal && len(batch) > 1 {
			for i := range batch { // JSON that PostgreSQL does not take
				_, _ = r.insert(ctx, id, batch[i:i+1])
			}
			n, err = 1, nil
		}
		switch {
		case err != nil:
			r.log.WarnContext(ctx, "events of tools were dropped", "tenant", id, "events", len(batch), "err", err)
		case n == 0:
			r.unwanted.Put(id, true)
			if r.heard.Load() != heard { // somebody may have begun to want them
				r.unwanted.Remove(id)
			}
		}
	}
	if w.dropped > 0 {
		r.log.WarnContext(ctx, "events of tools were dropped, as they happen faster than they can be written", "tenant", id, "events", w.dropped)
	}
}

// insert writes events, if they are wanted, and returns how many it has written.
func (r *Recorder) insert(ctx context.Context, id tenant.ID, calls []ToolCall) (int64, error) {
	var types, indexes, tools, subjects []string
	var data []json.RawMessage
	var times []time.Time
	for _, c := range calls {
		types, indexes, tools, subjects = append(types, c.Type), append(indexes, c.Index), append(tools, c.Tool), append(subjects, c.Subject)
		data, times = append(data, c.data()), append(times, c.at)
	}
	return r.db.Handle(id).Exec(ctx, `
		INSERT INTO ragd_shared.events (type, index_name, tool_name, subject, data, created_at)
		SELECT g.type, g.index_name, g.tool_name, g.subject, g.data, g.created_at
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::jsonb[], $6::timestamptz[])
			WITH ORDINALITY AS g (type, index_name, tool_name, subject, data, created_at, n)
		WHERE ragd_shared.event_wanted('tool') ORDER BY g.n`, types, indexes, tools, subjects, data, times)
}

// data returns the data of the event.
func (c *ToolCall) data() json.RawMessage {
	data := map[string]any{
		"callId": c.CallID, "toolName": c.Tool, "shownAs": c.ShownAs, "server": c.Server, "indexName": c.Index, "subject": c.Subject,
		"arguments": recorded(c.Arguments),
	}
	if c.Type != "tool.input" {
		data["durationMs"] = c.Took.Milliseconds()
	}
	switch c.Type {
	case "tool.output":
		data["result"] = recorded(c.Result)
		if c.Result == nil {
			data["text"] = Shorten(c.Text, maxRecordedBytes)
		}
	case "tool.error":
		data["errorCode"], data["error"] = fault.KindOf(c.Err).String(), fault.Public(c.Err)
	}
	if max(len(c.Arguments), len(c.Result), len(c.Text)) > maxRecordedBytes {
		data["truncated"] = true
	}
	if c.dropped > 0 {
		data["dropped"] = c.dropped
	}
	raw, err := json.Marshal(data)
	if err != nil {
		raw = json.RawMessage(`{}`) // values that were decoded from JSON can be written
	}
	return bytes.ReplaceAll(raw, []byte(`\u0000`), []byte(`\ufffd`)) // which jsonb does not store
}

// recorded returns the value of a JSON text, shortened if it is large.
func recorded(raw json.RawMessage) any {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil
	}
	if len(raw) > maxRecordedBytes {
		value = Shorten(value, maxRecordedBytes/bytesPerItem)
	}
	return value
}
