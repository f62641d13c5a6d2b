package agent

import (
	"runtime"
	"strings"
	"testing"
)

func check(passages []Citation, pieces ...string) (text string, c *citer) {
	c = &citer{passages: passages}
	for _, piece := range pieces {
		text += c.add(piece)
	}
	return text + c.end(), c
}

// A marker that is removed leaves nothing that reads as another.
func TestARemovedMarkerMakesNoOther(t *testing.T) {
	t.Parallel()
	passages := []Citation{{Number: 1, Text: "The sky is blue."}}
	for given, want := range map[string]string{
		"claim [[9]7]": "claim [[?]7]", "claim [1[9],2]": "claim [1[?],2]", "claim [ [9]7]": "claim [[?]7]",
		"claim [9] and [1].": "claim and [1].", `"moon is made of cheese" [[1]1]`: `"moon is made of cheese" [[?]1]`,
		`"the sky is blue" [1]`: `"the sky is blue" [1]`,
	} {
		whole, _ := check(passages, given)
		pieces, _ := check(passages, strings.SplitAfter(given, "")...)
		if whole != want || pieces != want {
			t.Errorf("%q became %q, and in pieces %q; want %q", given, whole, pieces, want)
		}
		if again := marker.FindAllString(strings.ReplaceAll(whole, "[1]", ""), -1); again != nil {
			t.Errorf("%q has the markers %q", whole, again)
		}
	}
}

// An answer of many markers takes memory in proportion to its length. Not parallel: it looks at what
// the whole process allocates.
func TestManyMarkersTakeLittleMemory(t *testing.T) {
	passages := []Citation{{Number: 1, Text: strings.Repeat("word ", 13_000)}}
	answer := strings.Repeat(`x "a b c"[1,1,1,1,1,1,1,1] `, 500)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	check(passages, answer)
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 64<<20 {
		t.Errorf("%d bytes of answer took %d MiB", len(answer), bytes>>20)
	}
	if _, c := check(passages, strings.Repeat("x[1] ", 3*maxMarkers)); c.removed != 2*maxMarkers {
		t.Errorf("%d of %d markers were removed", c.removed, 3*maxMarkers)
	}
}
