package jsonsplit

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/assembly"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// isLines reports whether the first line of a text that is not blank is a JSON value, and others follow:
// then the text is JSON Lines.
func isLines(text string) bool {
	first, rest, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")), "\n")
	return rest != "" && json.Valid([]byte(first))
}

// splitLines is Split for JSON Lines: each line is a root of its own. Lines share the bound on the length
// of all chunks.
func splitLines(text string, o Options, emit func(text string, start, end int) error) error {
	if err := assembly.CheckLength(text); err != nil {
		return err
	}
	budget := maxKeyRepeat*len(text) + keyRepeatSlack
	at, number := 0, 0
	for line := range strings.Lines(text) {
		number++
		if strings.TrimSpace(line) != "" {
			start := at
			err := splitOne(line, o, &budget, func(text string, first, last int) error { return emit(text, start+first, start+last) })
			if err != nil {
				return inLine(number, err)
			}
		}
		at += len(line)
	}
	return nil
}

// inLine returns an error about the text with the number of the line.
func inLine(number int, err error) error {
	var known *fault.Error
	if errors.As(err, &known) && len(known.Violations) > 0 && known.Violations[0].Field == "text" {
		return fault.Field("text", "is broken in line %d of JSON Lines, which %s", number, known.Violations[0].Reason)
	}
	return err
}
