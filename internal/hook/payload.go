package hook

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/tenant"
)

// content lists the fields of the data of events that hold what tenants store or ask, by
// topic.
var content = map[string][]string{"document": {"metadata"}, "tool": {"arguments", "result", "text"}}

// payload is the body of a delivery.
type payload struct {
	Type      string         `json:"type"`
	Timestamp time.Time      `json:"timestamp"` // of the event
	EventID   string         `json:"eventId"`
	TenantID  tenant.ID      `json:"tenantId"`
	Data      map[string]any `json:"data"`
}

// encode returns the body of a delivery to a hook: without content if the hook wants none,
// and shortened to its limit, as valid JSON.
func encode(id tenant.ID, h Hook, d Delivery) ([]byte, error) {
	p := payload{Type: d.Type, Timestamp: d.EventAt.UTC(), EventID: d.EventID, TenantID: id, Data: maps.Clone(d.Data)}
	if topic, _, _ := strings.Cut(d.Type, "."); !h.IncludeContent {
		for _, field := range content[topic] {
			delete(p.Data, field)
		}
	}
	body, err := json.Marshal(p)
	full := p.Data
	for most := h.MaxPayloadBytes / 2; err == nil && len(body) > h.MaxPayloadBytes; most /= 2 {
		p.Data = map[string]any{}
		if most > 0 {
			p.Data = shorten(full, most).(map[string]any)
		}
		p.Data["truncated"] = true
		if body, err = json.Marshal(p); most == 0 {
			break
		}
	}
	return body, err
}

// bytesPerItem is how many bytes of a text count as one item of a list.
const bytesPerItem = 64

// shorten returns a JSON value whose texts have at most so many bytes, and whose lists and
// objects proportionally few items.
func shorten(value any, most int) any {
	items := most/bytesPerItem + 1
	switch v := value.(type) {
	case string:
		if len(v) <= most {
			return v
		}
		for most > 0 && !utf8.RuneStart(v[most]) {
			most--
		}
		return v[:most] + "…"
	case []any:
		short := make([]any, min(len(v), items))
		for i := range short {
			short[i] = shorten(v[i], most/2)
		}
		return short
	case map[string]any:
		short := map[string]any{}
		keys := slices.Sorted(maps.Keys(v)) // so that every attempt has the same body
		for _, key := range keys[:min(len(keys), items+minFields)] {
			short[key] = shorten(v[key], most)
		}
		return short
	}
	return value
}

// minFields is how many fields of an object are kept at least: those of an event are fewer.
const minFields = 20
