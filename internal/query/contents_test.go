package query

import (
	"fmt"
	"testing"
)

func TestContentsLast(t *testing.T) {
	t.Parallel()
	const contents = `{"position": {"contents": true, "section": "Harbour"}}`
	for _, tc := range []struct {
		name    string
		sources []Source
		want    string
	}{
		{"none", []Source{{ID: "a", Score: 0.9}, {ID: "b", Score: 0.8, Metadata: `{"contents": true}`}}, "a 0.9 b 0.8 "},
		{"first", []Source{{ID: "a", Score: 0.9, Metadata: contents}, {ID: "b", Score: 0.8}, {ID: "c", Score: 0.3}}, "b 0.8 a 0.45 c 0.3 "},
		{"below 0", []Source{{ID: "a", Score: -0.2, Metadata: contents}, {ID: "b", Score: -0.25}}, "b -0.25 a -0.3 "},
		{"level", []Source{{ID: "b", Score: 0.8, Metadata: contents}, {ID: "a", Score: 0.4}}, "a 0.4 b 0.4 "},
		{"its own field", []Source{{ID: "a", Score: 0.9, Metadata: `{"position": "contents"}`}}, "a 0.9 "},
	} {
		got := ""
		for _, s := range contentsLast(tc.sources) {
			got += fmt.Sprintf("%s %.3g ", s.ID, s.Score)
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
