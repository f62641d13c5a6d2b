package schema

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxPatternSize bounds the states of a pattern. Repetitions such as x{1000} have as many states
// as what they stand for.
const maxPatternSize = 20_000

// pattern is a regular expression with the number of its states: a match takes time in
// proportion to it and to the length of the text.
type pattern struct {
	*regexp.Regexp

	size int
}

// compilePattern is the engine for patterns of schemas and for the format regex.
func compilePattern(text string) (jsonschema.Regexp, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := sizeOf(parsed)
	if size > maxPatternSize {
		return nil, errors.New("the regular expression is too large: repeat less")
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return pattern{compiled, size}, nil
}

// sizeOf returns about how many states an expression has, at most a little more than
// maxPatternSize.
func sizeOf(e *syntax.Regexp) int {
	size := max(1, len(e.Rune))
	if e.Op == syntax.OpCharClass {
		size = 1
	}
	for _, inner := range e.Sub {
		size = min(size+sizeOf(inner), maxPatternSize+1)
	}
	if e.Op == syntax.OpRepeat {
		size *= max(e.Min, e.Max, 1) + 1
	}
	return min(size, maxPatternSize+1)
}

// patternSize returns the size of a pattern that compilePattern has made.
func patternSize(r jsonschema.Regexp) int {
	if p, ok := r.(pattern); ok {
		return p.size
	}
	return maxPatternSize
}
