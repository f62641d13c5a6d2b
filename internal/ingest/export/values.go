package export

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"
	"time"
)

// person is somebody in a record: an object with a name, a name, or an address that ends with it.
type person string

// UnmarshalJSON implements json.Unmarshaler.
func (p *person) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*p = person(lastOf(text))
		return nil
	}
	var object struct {
		Login, Name, Username string
	}
	if err := json.Unmarshal(data, &object); err != nil {
		return nil //nolint:nilerr // a number, which the dialect looks up, or nothing
	}
	*p = cmp.Or(*p, person(cmp.Or(object.Login, object.Name, object.Username)))
	return nil
}

// lastOf returns the last part of an address, or a text that is none.
func lastOf(text string) string {
	if strings.Contains(text, "://") {
		return path.Base(text)
	}
	return text
}

// label is a label in a record: an object with a name, or a name.
type label string

// UnmarshalJSON implements json.Unmarshaler.
func (l *label) UnmarshalJSON(data []byte) error {
	var p person
	err := p.UnmarshalJSON(data)
	*l = label(p)
	return err
}

func texts[T ~string](values []T) (out []string) {
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}

// moment is a time in a record; one that cannot be read is none.
type moment struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (m *moment) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		m.Time = momentOf(text)
	}
	return nil
}

// momentOf returns the time in a text, the zero time if it has none.
func momentOf(text string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05 UTC", "2006-01-02 15:04:05.999", "2006-01-02T15:04:05", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	return time.Time{}
}

// later returns the later of two times of which one may be missing.
func later(a, b moment) time.Time {
	if a.After(b.Time) {
		return a.Time
	}
	return b.Time
}

// thread is a text with its answers, as Markdown.
type thread struct{ text strings.Builder }

func newThread(title string) *thread {
	t := &thread{}
	if title = strings.Join(strings.Fields(title), " "); title != "" {
		t.text.WriteString("# " + title + "\n\n")
	}
	return t
}

// add adds a text below a line that says what it is, or a heading.
func (t *thread) add(line, text string) {
	if text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")); text == "" {
		return
	}
	if line != "" {
		t.text.WriteString(line + "\n\n")
	}
	t.text.WriteString(text + "\n\n")
}

func (t *thread) content() []byte { return []byte(strings.TrimRight(t.text.String(), "\n") + "\n") }
