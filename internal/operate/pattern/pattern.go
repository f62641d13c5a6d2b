// Package pattern compiles regular expressions of callers, in the syntax of RE2, and bounds their
// size before they take memory.
package pattern

import (
	"errors"
	"regexp"
	"regexp/syntax"
)

// MaxStates is the greatest number of states of an expression. Repetitions such as x{1000} have
// as many states as what they stand for.
const MaxStates = 10_000

// Pattern is a regular expression with the number of its states: a match takes time in
// proportion to it and to the length of the text.
type Pattern struct {
	*regexp.Regexp

	States int
}

// ErrTooLarge is the error of Compile for an expression with too many states. It is public.
var ErrTooLarge = errors.New("the regular expression is too large: repeat less")

// Compile compiles a regular expression with at most so many states, or MaxStates if that is less.
// Errors are public.
func Compile(text string, most int) (Pattern, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return Pattern{}, err
	}
	states := statesOf(parsed)
	if states > min(most, MaxStates) {
		return Pattern{}, ErrTooLarge
	}
	compiled, err := regexp.Compile(text)
	return Pattern{compiled, states}, err
}

// statesOf returns about how many states an expression has, at most a little more than
// MaxStates.
func statesOf(e *syntax.Regexp) int {
	states := 1
	switch e.Op {
	case syntax.OpLiteral:
		states = len(e.Rune)
	case syntax.OpConcat:
		states = 0
	case syntax.OpAlternate:
		states = len(e.Sub)
	case syntax.OpCapture:
		states = 2
	}
	for _, inner := range e.Sub {
		states = min(states+statesOf(inner), MaxStates+1)
	}
	if e.Op == syntax.OpRepeat {
		states *= max(e.Min, e.Max, 1)
	}
	return min(states, MaxStates+1)
}
