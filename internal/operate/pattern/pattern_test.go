package pattern

import (
	"errors"
	"regexp/syntax"
	"strings"
	"testing"
)

func TestStatesAreCountedWithWhatRepetitionsStandFor(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a", "abc", "(a|bc)+d?", "a{1,50}$", "(a{10}){10}b*", "[a-z]{3,}", `\bword\b`, "x{1000}", "(?i)straße|(a|b|c){7}"} {
		p, err := Compile(text, MaxStates)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		// The program has instructions of its own at both ends, and two for an optional state.
		if n := len(prog.Inst); p.States > 2*n || n > 2*p.States+4 {
			t.Errorf("%q has %d states and a program of %d instructions", text, p.States, n)
		}
	}
}

func TestLargeExpressionsAreRefusedBeforeTheyAreCompiled(t *testing.T) {
	t.Parallel()
	for text, most := range map[string]int{
		strings.Repeat("(a|b|c){1000}", 70): MaxStates,
		"x{1000}x{1}":                       1000,
		"(((a{10}){10}){10})b":              1000,
	} {
		if _, err := Compile(text, most); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Compile("(a", MaxStates); err == nil || !strings.Contains(err.Error(), "missing closing )") {
		t.Errorf("a syntax error: %v", err)
	}
}
