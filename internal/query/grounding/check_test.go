package grounding

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// labelled is a sentence of testdata/labelled.txt.
type labelled struct {
	page  int
	holds bool
	label string
	text  string
}

// readLabelled returns the pages and their sentences.
func readLabelled(t testing.TB) (pages []Source, sentences []labelled) {
	t.Helper()
	raw, err := os.ReadFile("testdata/labelled.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "== "):
			_, title, _ := strings.Cut(line[3:], " ")
			pages = append(pages, Source{Title: title})
		case strings.HasPrefix(line, "+ ") || strings.HasPrefix(line, "- "):
			label, text, ok := strings.Cut(line[2:], ": ")
			if !ok {
				t.Fatalf("no label: %s", line)
			}
			sentences = append(sentences, labelled{len(pages) - 1, line[0] == '+', label, text})
		default:
			pages[len(pages)-1].Text = line
		}
	}
	return pages, sentences
}

// beside returns the page of a sentence behind two others.
func beside(pages []Source, page int) []Source {
	return []Source{pages[(page+1)%len(pages)], pages[(page+5)%len(pages)], pages[page]}
}

// TestLabelledSentences measures how well unsupported sentences are found, on the pages with an even number, which no constant
// was chosen by. Changed numbers, names and dates must all be found on all pages.
func TestLabelledSentences(t *testing.T) {
	t.Parallel()
	pages, sentences := readLabelled(t)
	type tally struct{ hit, miss, wrong, right int }
	halves := map[bool]*tally{false: {}, true: {}}
	for _, s := range sentences {
		report, err := Check(t.Context(), s.text, beside(pages, s.page))
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Sentences) != 1 {
			t.Fatalf("%q has %d sentences", s.text, len(report.Sentences))
		}
		got := report.Sentences[0]
		even := (s.page+1)%2 == 0
		half := halves[even]
		unsupported := got.State == Unsupported
		switch {
		case s.holds && unsupported:
			half.wrong++
		case s.holds:
			half.right++
		case unsupported:
			half.hit++
		default:
			half.miss++
		}
		if s.holds == unsupported || s.holds && got.State != Supported {
			t.Logf("page %d, %s: %s %.2f %s %v", s.page+1, s.label, got.State, got.Score, s.text, missingTexts(s.text, got))
		}
		if (s.label == "number" || s.label == "name" || s.label == "date") && !unsupported {
			t.Errorf("page %d: a changed %s is not found: %s %.2f %s", s.page+1, s.label, got.State, got.Score, s.text)
		}
	}
	for even, h := range halves {
		precision, recall := float64(h.hit)/float64(h.hit+h.wrong), float64(h.hit)/float64(h.hit+h.miss)
		t.Logf("even %v: precision %.3f recall %.3f of %d unsupported and %d others", even, precision, recall, h.hit+h.miss, h.right+h.wrong)
		if precision < 0.93 || recall < 0.93 {
			t.Errorf("even %v: precision %.3f recall %.3f of unsupported sentences", even, precision, recall)
		}
	}
}

func missingTexts(text string, s Sentence) (all []string) {
	for _, m := range s.Missing {
		all = append(all, fmt.Sprintf("%s %q %v", m.Kind, text[m.Start:m.End], m.Elsewhere))
	}
	return all
}
