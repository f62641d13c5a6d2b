package memory

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query"
)

// Memory is a short text about a user. Times that are zero are not set.
type Memory struct {
	ID         string
	Text       string
	Subject    string
	Source     Source
	ValidFrom  time.Time
	ValidUntil time.Time // end exclusive
	ExpiresAt  time.Time
	Replaces   string // the id of the earlier version; "" for none
	ReplacedBy string // the id of the later version; "" for none
	CreatedAt  time.Time
	Score      float64 // similarity to the question of a Recall, at most 1

	lineage string // the id of the first version
}

// Source says what a memory comes from.
type Source struct {
	Agent    string `json:"agent,omitempty"` // "" if no agent stored it
	ThreadID string `json:"threadId,omitempty"`
	Message  string `json:"message,omitempty"` // the beginning of the user's message to the agent
	Note     string `json:"note,omitempty"`    // of the caller
}

// Limits of memories.
const (
	MaxTextBytes    = 2000
	MaxPerUser      = 1000 // with earlier versions
	maxNoteBytes    = 500
	maxMessageBytes = 500 // of Source.Message
)

// fields is the metadata of a memory.
type fields struct {
	MemoryID   string `json:"memoryId"`
	Subject    string `json:"subject"`
	Lineage    string `json:"lineage"`
	ValidFrom  string `json:"validFrom"`
	ValidUntil string `json:"validUntil"`
	ExpiresAt  string `json:"expiresAt"`
	CreatedAt  string `json:"createdAt"`
	Replaces   string `json:"replaces,omitempty"`
	ReplacedBy string `json:"replacedBy,omitempty"`
	Source     Source `json:"source"`
}

// never stands for no end, so that a comparison needs no case for it.
const never = "9999-12-31T00:00:00.000000Z"

// instant is the form of times in the metadata, in UTC: texts in it are in the order of the times.
const instant = "2006-01-02T15:04:05.000000Z"

func stamp(t time.Time) string {
	if t.IsZero() {
		return never
	}
	return t.UTC().Format(instant)
}

func timeOf(stamped string) (time.Time, error) {
	if stamped == never {
		return time.Time{}, nil
	}
	return time.Parse(instant, stamped)
}

// metadata returns the metadata of the memory.
func (m Memory) metadata() (map[string]any, error) {
	raw, err := json.Marshal(fields{
		MemoryID: m.ID, Subject: m.Subject, Lineage: m.lineage, ValidFrom: stamp(m.ValidFrom), ValidUntil: stamp(m.ValidUntil), ExpiresAt: stamp(m.ExpiresAt),
		CreatedAt: stamp(m.CreatedAt), Replaces: m.Replaces, ReplacedBy: m.ReplacedBy, Source: m.Source,
	})
	if err != nil {
		return nil, err
	}
	var metadata map[string]any
	return metadata, json.Unmarshal(raw, &metadata)
}

// memoryOf returns the memory that a search has found.
func memoryOf(s query.Source) (Memory, error) {
	var f fields
	if err := json.Unmarshal([]byte(s.Metadata), &f); err != nil {
		return Memory{}, fmt.Errorf("read the metadata of memory %s: %w", s.ID, err)
	}
	m := Memory{ID: s.ID, Text: s.Text, Subject: f.Subject, Source: f.Source, Replaces: f.Replaces, ReplacedBy: f.ReplacedBy, lineage: f.Lineage}
	for _, end := range []struct {
		text string
		into *time.Time
	}{{f.ValidUntil, &m.ValidUntil}, {f.ExpiresAt, &m.ExpiresAt}, {f.ValidFrom, &m.ValidFrom}, {f.CreatedAt, &m.CreatedAt}} {
		var err error
		if *end.into, err = timeOf(end.text); err != nil {
			return Memory{}, fmt.Errorf("read a time of memory %s: %w", s.ID, err)
		}
	}
	if s.Similarity != nil {
		m.Score = *s.Similarity
	}
	return m, nil
}

// check checks a memory to be stored now, and fills in its defaults. Errors: Invalid, naming the field.
func (m *Memory) check(now time.Time) error {
	if m.Text = strings.TrimSpace(m.Text); m.Text == "" {
		return fault.Field("text", "is empty: write one fact or preference")
	}
	if err := textlimit.Check("text", m.Text, MaxTextBytes); err != nil {
		return err
	}
	if err := textlimit.Check("note", m.Source.Note, maxNoteBytes); err != nil {
		return err
	}
	if m.ValidFrom.IsZero() {
		m.ValidFrom = now
	}
	for _, t := range []time.Time{m.ValidFrom, m.ValidUntil, m.ExpiresAt} {
		if !t.IsZero() && (t.Year() < 1 || t.Year() > 9998) {
			return fault.Field("validFrom", "and the other times must be in the years 1 to 9998")
		}
	}
	if !m.ValidUntil.IsZero() && !m.ValidUntil.After(m.ValidFrom) {
		return fault.Field("validUntil", "must be after validFrom")
	}
	if !m.ExpiresAt.IsZero() && !m.ExpiresAt.After(now) {
		return fault.Field("expireTime", "must be in the future")
	}
	return nil
}
