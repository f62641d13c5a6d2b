package remote

import (
	"context"
	"io"

	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// Costs of an answer in memory, in bytes: copies of its text and, for JSON, the values in maps
// and slices and those of the message that is made of them.
const (
	textCost   = 4   // of a byte
	openCost   = 768 // of an object or a list
	entryCost  = 160 // of an entry after the first
	memberCost = 96  // of the name of a member
	// chunk is how much memory is taken at once.
	chunk = 256 << 10
)

// Metered returns a body whose reader takes memory for its content, and for the JSON in it,
// with admission.Grow. Reading fails with the error of that.
func Metered(ctx context.Context, body io.ReadCloser, isJSON bool) io.ReadCloser {
	return &metered{ReadCloser: body, ctx: ctx, isJSON: isJSON}
}

type metered struct {
	io.ReadCloser
	ctx    context.Context // of the call whose answer this is
	isJSON bool
	meter  Meter
	ahead  int64 // taken, but not used yet
}

// Read implements io.Reader.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	cost := int64(n) * textCost
	if m.isJSON {
		cost = m.meter.Weigh(p[:n])
	}
	if cost > m.ahead {
		more := max(cost-m.ahead, chunk)
		if refused := admission.Grow(m.ctx, more); refused != nil {
			return 0, refused
		}
		m.ahead += more
	}
	m.ahead -= cost
	return n, err
}

// Meter estimates the memory of JSON that arrives in pieces, also as the data of server-sent
// events. It counts at least what is there: texts have no line breaks.
type Meter struct{ quoted, escaped bool }

// Weigh returns the memory that the next piece takes, in bytes.
func (m *Meter) Weigh(piece []byte) int64 {
	cost := int64(len(piece)) * textCost
	for _, c := range piece {
		switch {
		case c == '\n':
			m.quoted, m.escaped = false, false
		case m.escaped:
			m.escaped = false
		case m.quoted && c == '\\':
			m.escaped = true
		case c == '"':
			m.quoted = !m.quoted
		case m.quoted:
		case c == '{' || c == '[':
			cost += openCost
		case c == ',':
			cost += entryCost
		case c == ':':
			cost += memberCost
		}
	}
	return cost
}
