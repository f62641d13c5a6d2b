package schema

import (
	"errors"
	"regexp"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ragdhq/ragd/internal/operate/pattern"
)

// maxPatternSize bounds the states of all patterns of a schema.
const maxPatternSize = pattern.MaxStates

// patterns compiles the patterns of a schema, and then the values of the format regex.
type patterns struct {
	known    map[string]pattern.Pattern // of the schema; nil once it is compiled
	size     int                        // of all
	tooLarge bool                       // they are
}

// Pattern compiles a regular expression that a tenant gives outside of a schema. It is one of RE2,
// and may have as many states as the patterns of a schema. Errors are public.
func Pattern(text string) (*regexp.Regexp, error) {
	compiled, err := pattern.Compile(text, maxPatternSize)
	return compiled.Regexp, err
}

// compile is the engine for patterns.
func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if found, ok := p.known[text]; ok {
		return found, nil
	}
	if p.known == nil {
		return pattern.Compile(text, maxPatternSize)
	}
	compiled, err := pattern.Compile(text, maxPatternSize-p.size)
	if err != nil {
		p.tooLarge = p.tooLarge || errors.Is(err, pattern.ErrTooLarge)
		return nil, err
	}
	p.size += compiled.States
	p.known[text] = compiled
	return compiled, nil
}

// patternSize returns the size of a pattern that patterns has compiled.
func patternSize(r jsonschema.Regexp) int {
	if p, ok := r.(pattern.Pattern); ok {
		return p.States
	}
	return maxPatternSize
}
