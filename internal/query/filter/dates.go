package filter

import (
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// WithDates returns metadata in which each {"$date": ...} is a text in the form of ISO 8601: a text stays as it is
// written, milliseconds since 1970 are in UTC. Errors: Invalid, naming the field below name, for one that states no time.
func WithDates(name string, metadata map[string]any) (map[string]any, error) {
	value, _, err := withDates(name, metadata)
	if err != nil || value == nil {
		return metadata, err
	}
	converted, isObject := value.(map[string]any)
	if !isObject {
		return nil, fault.Field(name, `must be an object of fields, not a time`)
	}
	return converted, nil
}

// withDates returns a value with its times as texts. It copies what it changes, and says whether that is anything.
func withDates(at string, v any) (value any, changed bool, err error) {
	if operand, ok := dateLiteral(v); ok {
		text, err := dateText(at, operand)
		return text, true, err
	}
	switch v := v.(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, child := range v {
			made, differs, err := withDates(at+"."+key, child)
			if err != nil {
				return nil, false, err
			}
			copied[key], changed = made, changed || differs
		}
		if changed {
			return copied, true, nil
		}
	case []any:
		copied := make([]any, len(v))
		for i, child := range v {
			made, differs, err := withDates(at, child)
			if err != nil {
				return nil, false, err
			}
			copied[i], changed = made, changed || differs
		}
		if changed {
			return copied, true, nil
		}
	}
	return v, false, nil
}

// dateText returns the text of the time that the operand of $date states.
func dateText(at string, operand any) (string, error) {
	if text, ok := operand.(string); ok && !strings.HasPrefix(text, "now") {
		if _, ok := Instant(text); ok {
			return text, nil
		}
	} else if !ok {
		if micros, err := (&parser{}).date(operand, location{}); err == nil {
			return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.999Z07:00"), nil
		}
	}
	return "", fault.Field(at, `has a $date that is no time such as "2026-03-01" or "2026-03-01T09:30:00+02:00", nor milliseconds since 1970`)
}
