package extract

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzRead(f *testing.F) {
	for _, answer := range []string{
		`{"keywords": ["a", "b"]}`, "KEYWORDS: a, b", "1. What?\n2) Who? Why？", "```\n{\n```", "“x”", `["a"]`, "{\"summary\":\"x\"}", "**Title:** X", "\x00\xff",
	} {
		f.Add(answer)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		for _, split := range []func(string) []string{splitKeywords, splitQuestions} {
			list, err := readList(answer, "keywords", 5, split)
			if (err == nil) != (len(list) > 0) || len(list) > 5 {
				t.Fatalf("%q is %q, %v", answer, list, err)
			}
			for _, item := range list {
				check(t, item, maxLineBytes)
			}
		}
		if text, err := readText(answer, "summary", 100); err == nil {
			check(t, text, 100)
		}
		if filled := fill(answer, "context", 5); !strings.Contains(answer, "{") && filled != answer {
			t.Fatalf("%q is filled to %q", answer, filled)
		}
	})
}

// A truncated answer is neither a summary nor a keyword.
func TestBrokenAnswersAreNoText(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`{"summary": "The gate op`, `{]]] not JSON`, "```json\n{\"summary\": \"The", `["gate", "har`} {
		if text, err := readText(answer, "summary", 100); err == nil {
			t.Errorf("%s is read as %q", answer, text)
		}
		if list, err := readList(answer, "keywords", 5, splitKeywords); err == nil {
			t.Errorf("%s is read as %q", answer, list)
		}
	}
}

// check fails unless a text can be stored.
func check(t *testing.T, text string, most int) {
	t.Helper()
	if text == "" || len(text) > most || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\n") || strings.TrimSpace(text) != text {
		t.Fatalf("%q", text)
	}
}
