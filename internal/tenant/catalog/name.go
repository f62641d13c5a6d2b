package catalog

import "github.com/ragdhq/ragd/internal/operate/fault"

// IsName reports whether name has 1 to most bytes, all of them letters of ASCII, digits, _ and -.
func IsName(name string, most int) bool {
	if name == "" || len(name) > most {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// CheckName checks that IsName accepts a name. Errors: Invalid, naming the field.
func CheckName(field, name string, most int) error {
	if !IsName(name, most) {
		return fault.Field(field, "must be 1 to %d letters, digits, _ and -", most)
	}
	return nil
}
