package schema

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxPatternSize bounds the states of all patterns of a schema. Repetitions such as x{1000} have
// as many states as what they stand for.
const maxPatternSize = 10_000

// pattern is a regular expression with the number of its states: a match takes time in
// proportion to it and to the length of the text.
type pattern struct {
	*regexp.Regexp

	size int
}

// patterns compiles the patterns of a schema, and then the values of the format regex.
type patterns struct {
	known map[string]pattern // of the schema; nil once it is compiled
	size  int                // of all
}

// Pattern compiles a regular expression that a tenant gives outside of a schema. It is one of RE2,
// and may have as many states as the patterns of a schema. Errors are public.
func Pattern(text string) (*regexp.Regexp, error) {
	compiled, err := (&patterns{}).compile(text)
	if err != nil {
		return nil, err
	}
	return compiled.(pattern).Regexp, nil
}

// compile is the engine for patterns.
func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if found, ok := p.known[text]; ok {
		return found, nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := sizeOf(parsed)
	if p.known != nil {
		p.size += size
	}
	if max(size, p.size) > maxPatternSize {
		return nil, errors.New("the regular expression is too large: repeat less")
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	if p.known != nil {
		p.known[text] = pattern{compiled, size}
	}
	return pattern{compiled, size}, nil
}

// sizeOf returns about how many states an expression has, at most a little more than
// maxPatternSize.
func sizeOf(e *syntax.Regexp) int {
	size := 1
	switch e.Op {
	case syntax.OpLiteral:
		size = len(e.Rune)
	case syntax.OpConcat:
		size = 0
	case syntax.OpAlternate:
		size = len(e.Sub)
	case syntax.OpCapture:
		size = 2
	}
	for _, inner := range e.Sub {
		size = min(size+sizeOf(inner), maxPatternSize+1)
	}
	if e.Op == syntax.OpRepeat {
		size *= max(e.Min, e.Max, 1)
	}
	return min(size, maxPatternSize+1)
}

// patternSize returns the size of a pattern that patterns has compiled.
func patternSize(r jsonschema.Regexp) int {
	if p, ok := r.(pattern); ok {
		return p.size
	}
	return maxPatternSize
}
