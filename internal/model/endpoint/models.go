package endpoint

import (
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// maxModelBytes is the longest name of a model.
const maxModelBytes = 200

// modelCharacters are the characters of a model's name besides letters and digits of ASCII.
const modelCharacters = "._:/@+-"

// CheckModel checks the name of a model as its provider knows it. Errors: Invalid, naming
// the field, for a name that no model has, or one that Models does not allow.
func (c Config) CheckModel(field, model string) error {
	if len(model) == 0 || len(model) > maxModelBytes || strings.ContainsFunc(model, isForeign) {
		return fault.Field(field, "must name a model with 1 to %d letters, digits and %s", maxModelBytes, modelCharacters)
	}
	if len(c.Models) == 0 {
		return nil
	}
	for _, pattern := range c.Models {
		if Matches(pattern, model) {
			return nil
		}
	}
	return fault.Field(field, "%q is not a model that this endpoint allows; allowed are %s", model, strings.Join(c.Models, ", "))
}

// isForeign reports whether a model's name cannot contain the character.
func isForeign(r rune) bool {
	isASCII := r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	return !isASCII && !strings.ContainsRune(modelCharacters, r)
}

// Matches reports whether the name of a model matches a pattern, in which * stands for any characters, whatever their case.
func Matches(pattern, name string) bool {
	return matches(strings.ToLower(pattern), strings.ToLower(name))
}

// matches reports whether a name matches a pattern, in which * stands for any characters.
// It takes time proportional to the product of their lengths at most.
func matches(pattern, name string) bool {
	segments := strings.Split(pattern, "*")
	first, last := segments[0], segments[len(segments)-1]
	if len(segments) == 1 {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for _, segment := range segments[1 : len(segments)-1] {
		_, rest, found := strings.Cut(name, segment)
		if !found {
			return false
		}
		name = rest
	}
	return strings.HasSuffix(name, last)
}
