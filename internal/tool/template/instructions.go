package template

import (
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// CheckInstructions checks instructions to a model, in which placeholders stand for values of the
// request, but neither for arguments nor for secrets. Errors: Invalid, naming the field.
func CheckInstructions(field, text string) error {
	parsed, err := Parse(field, text)
	if err != nil {
		return err
	}
	for _, path := range parsed.Paths() {
		switch root, _, _ := strings.Cut(path, "."); root {
		case "arguments":
			return fault.Field(field, "has the placeholder {{%s}}, but instructions have no arguments", path)
		case "secrets":
			return fault.Field(field, "has the placeholder {{%s}}: instructions cannot show secrets", path)
		}
	}
	return nil
}
