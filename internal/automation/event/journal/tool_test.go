package journal

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/tenant"
)

func newTestRecorder() *Recorder {
	return &Recorder{
		log: slog.New(slog.DiscardHandler), any: make(chan struct{}, 1), waiting: map[tenant.ID]*waiting{},
		unwanted: cache.New(cache.Config[tenant.ID, bool]{Entries: 10, TTL: unwantedFor}),
	}
}

// A database that takes no events costs a bounded memory, blocks no call, and one tenant
// leaves space to others.
func TestEventsThatCannotBeWrittenAreDroppedAndCounted(t *testing.T) {
	t.Parallel()
	r := newTestRecorder()
	large := json.RawMessage(`"` + strings.Repeat("a", 1<<20) + `"`)
	for range 20 {
		r.Record(ToolCall{Tenant: "acme", Type: "tool.output", Result: large})
	}
	w := r.waiting["acme"]
	if w.bytes > maxWaitingBytesPerTenant || len(w.calls) == 0 || w.dropped != 20-len(w.calls) || r.bytes != w.bytes {
		t.Errorf("%d wait with %d of %d bytes, %d were dropped", len(w.calls), w.bytes, r.bytes, w.dropped)
	}
	r.Record(ToolCall{Tenant: "bolt", Type: "tool.input"})
	if len(r.waiting["bolt"].calls) != 1 {
		t.Error("another tenant's event was dropped")
	}
	dropped := w.dropped
	w.calls, w.bytes, r.bytes = nil, 0, 0 // as if they had been written
	r.Record(ToolCall{Tenant: "acme", Type: "tool.input"})
	var data map[string]any
	if err := json.Unmarshal(w.calls[0].data(), &data); err != nil || data["dropped"] != float64(dropped) {
		t.Errorf("data %v, %v", data, err)
	}
}

func TestDataOfEventsOfToolsIsValidAndBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä€😀", 200_000)
	encoded, err := json.Marshal(map[string]any{"text": long, "list": strings.Split(long[:100_000], "😀")})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]ToolCall{
		"a large result":    {Type: "tool.output", Arguments: encoded, Result: encoded},
		"a large text":      {Type: "tool.output", Text: long},
		"null characters":   {Type: "tool.output", Arguments: json.RawMessage(`{"a\u0000b": "\u0000"}`), Text: "\x00"},
		"a lone surrogate":  {Type: "tool.input", Arguments: json.RawMessage(`{"a": "\ud800"}`)},
		"no JSON":           {Type: "tool.input", Arguments: json.RawMessage(`{`)},
		"an error":          {Type: "tool.error", Err: errors.New("a private cause")},
		"arguments missing": {Type: "tool.input"},
	} {
		raw := c.data()
		if !json.Valid(raw) || len(raw) > 3*maxRecordedBytes || strings.Contains(string(raw), `\u0000`) || strings.Contains(string(raw), "private") {
			t.Errorf("%s: %d bytes: %.200s", name, len(raw), raw)
		}
		if large := strings.HasPrefix(name, "a large"); large != strings.Contains(string(raw), `"truncated":true`) {
			t.Errorf("%s: truncated: %.200s", name, raw)
		}
	}
}

func BenchmarkWantsNothing(b *testing.B) {
	r := newTestRecorder()
	r.unwanted.Put("acme", true)
	b.ReportAllocs()
	for b.Loop() {
		if r.Wants("acme") {
			b.Fatal("wanted")
		}
	}
}
