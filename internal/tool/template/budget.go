package template

import (
	"encoding/json"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Budget is how many bytes the texts and values of one message may take. A short template can
// name a long value many times. Not safe for concurrent use.
type Budget struct {
	what       string
	left, most int
}

// NewBudget returns a budget of a number of bytes. what names the message in errors, such as
// "the body of the request".
func NewBudget(what string, most int) *Budget { return &Budget{what, most, most} }

// Take takes bytes. Errors: Invalid when they are more than what is left.
func (b *Budget) Take(bytes int) error {
	if b.left -= bytes; b.left < 0 {
		return fault.New(fault.Invalid, "%s has more than %d bytes once its values are filled in: give shorter arguments", b.what, b.most)
	}
	return nil
}

// TakeValue takes at most as many bytes as a decoded JSON value has as JSON. It ends early when
// nothing is left. Errors: as Take.
func (b *Budget) TakeValue(value any) error {
	switch value := value.(type) {
	case string:
		return b.Take(len(value) + len(`""`))
	case json.Number:
		return b.Take(len(value))
	case []any:
		for _, item := range value {
			if err := b.TakeValue(item); err != nil {
				return err
			}
		}
		return b.Take(len("[]"))
	case map[string]any:
		for name, member := range value {
			if err := b.Take(len(name) + len(`"":,`)); err != nil {
				return err
			}
			if err := b.TakeValue(member); err != nil {
				return err
			}
		}
		return b.Take(len("{}"))
	}
	return b.Take(1)
}
