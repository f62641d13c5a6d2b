package hook

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/tenant"
)

// content lists the fields of the data of events that hold what tenants store or ask, by
// topic.
var content = map[string][]string{"document": {"metadata"}, "tool": {"arguments", "result", "text"}, "alert": {"text", "metadata"}}

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
			p.Data = journal.Shorten(full, most).(map[string]any)
		}
		p.Data["truncated"] = true
		if body, err = json.Marshal(p); most == 0 {
			break
		}
	}
	return body, err
}
