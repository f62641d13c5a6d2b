package query

import (
	"fmt"
	"strings"
	"testing"
)

// What people type is read as they mean it, and never refused for its form.
func TestWebSyntax(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		`harbour gate`:                   `harbour gate`,
		`"harbour gate" green`:           `harbour gate green; the text has "harbour gate"`,
		`gate -draft -"old crane"`:       `gate; not: the text has draft; not: the text has "old crane"`,
		`title:gate fees`:                `gate fees; the title has gate`,
		`-title:draft fees`:              `fees; not: the title has draft`,
		`harb* fees`:                     `harb fees; a word begins with harb`,
		`gate OR crane fees`:             `gate crane fees; the text has gate, or the text has crane`,
		`gate | "old crane" | title:fee`: `gate old crane fee; the text has gate, or the text has "old crane", or the title has fee`,
		`fees gate OR crane`:             `fees gate crane; the text has gate, or the text has crane`,
		`“harbour gate”`:                 `harbour gate; the text has "harbour gate"`,
		`"harbour gate`:                  `harbour gate`,
		`OR gate OR`:                     `gate`,
		`gate OR -crane`:                 `gate; not: the text has crane`,
		`-gate OR crane`:                 `crane; not: the text has gate`,
		`well-known - -- title: *`:       `well-known - -- title: *`,
		`or gate`:                        `or gate`,
		`"" ""`:                          ``,
		`-draft`:                         `; not: the text has draft`,
	} {
		text, conditions, err := parseWeb(question)
		if err != nil {
			t.Fatal(err)
		}
		got := text
		for _, c := range conditions {
			got += "; " + c.String()
		}
		if got != want {
			t.Errorf("%s is read as %s, want %s", question, got, want)
		}
	}
	if _, _, err := parseWeb(strings.Repeat("-a ", maxWebConditions+1)); err == nil || !strings.Contains(err.Error(), fmt.Sprint("limit of ", maxWebConditions)) {
		t.Error(err)
	}
}

func FuzzWebSyntax(f *testing.F) {
	for _, seed := range []string{`a "b c" -d title:e f* OR g | h`, `"`, `-`, `title:"`, `““`, "\x00\u3000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, question string) {
		text, conditions, err := parseWeb(question)
		if err != nil {
			return
		}
		if len(text) > len(question) {
			t.Errorf("%q becomes %q", question, text)
		}
		for _, c := range conditions {
			for _, o := range c.alternatives {
				if o.text == "" || !strings.Contains(question, o.text) {
					t.Errorf("%q has the condition %v", question, o)
				}
			}
		}
	})
}
