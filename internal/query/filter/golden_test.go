package filter

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goldenCase is one filter with the rows that it selects; testdata/README.md
// describes the file.
type goldenCase struct {
	Name       string
	Collection string
	Filter     json.RawMessage
	IDs        []string
	Refused    string // "", "parse" or "database"
}

type goldenRow struct {
	ID       string
	Metadata map[string]any
}

type goldenFile struct {
	Collections map[string][]goldenRow
	Cases       []goldenCase
}

func readGolden(t testing.TB) goldenFile {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden goldenFile
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) == 0 || len(golden.Collections) == 0 {
		t.Fatal("the golden file is empty")
	}
	return golden
}

func TestMatchSelectsTheGoldenRows(t *testing.T) {
	t.Parallel()
	golden := readGolden(t)
	for _, tc := range golden.Cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			f, err := Parse([]byte(tc.Filter))
			if tc.Refused == "parse" {
				if err == nil {
					t.Fatalf("accepted %s", tc.Filter)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, row := range golden.Collections[tc.Collection] {
				if f.Match(row.Metadata) {
					got = append(got, row.ID)
				}
			}
			want := append([]string{}, tc.IDs...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.Filter, diff)
			}
		})
	}
}
