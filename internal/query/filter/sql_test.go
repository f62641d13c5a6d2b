package filter

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// TestSQLText compares the SQL of each kind of condition with a golden file, so
// that changes are seen in review.
func TestSQLText(t *testing.T) {
	t.Parallel()
	const name = "testdata/sql.golden"
	var got strings.Builder
	for _, filter := range []string{
		`{}`,
		`{"$and": [{}, {"$nor": []}]}`,
		`{"$or": []}`,
		`{"a": "x"}`,
		`{"a": 10}`,
		`{"a": true}`,
		`{"a": null}`,
		`{"a.b": {"c": "x"}}`,
		`{"a.0": "x"}`,
		`{"indexed": "x", "a": 1}`,
		`{"indexed": 10}`,
		`{"a": {"$ne": "x"}}`,
		`{"a": {"$eq": ["x", {"b": 1.50}]}}`,
		`{"a": {"$ne": {}}}`,
		`{"a": {"$gt": 1.50, "$lte": "1e2"}}`,
		`{"a": {"$gte": "2024-01-01"}}`,
		`{"a": {"$gte": "2024-01"}}`,
		`{"a": {"$date": "2024-01-01T02:00:00+02:00"}}`,
		`{"a": {"$ne": "2024-01-01"}}`,
		`{"a": ["2024-01-01", "b", {"$date": 1704067200000}]}`,
		`{"a": {"$nin": ["2024-01-01", "2024-01-02"]}}`,
		`{"a": {"$lt": null}}`,
		`{"a": {"$in": ["x", 1]}}`,
		`{"a": {"$nin": ["x", 1]}}`,
		`{"a": {"$nin": ["x", null]}}`,
		`{"a.0": {"$in": ["x", 1]}}`,
		`{"a": {"$all": ["x", "y"]}}`,
		`{"a": {"$not": {"$all": ["x", 1]}}}`,
		`{"a": {"$elemMatch": {"b": "x", "c": {"$gt": 1}}}}`,
		`{"a": {"$elemMatch": {"$gte": 8, "$not": {"$eq": 9}}}}`,
		`{"a": {"$exists": false}}`,
		`{"a": {"$size": 2}}`,
		`{"a": {"$not": {"$size": {"$gte": 1, "$lt": 3}}}}`,
		`{"a": {"$regex": "(?i)^x", "$options": "m"}}`,
		`{"a": {"$contains": "k.5%"}}`,
		`{"$not": {"$or": [{"a": "x"}, {"$nor": [{"b": "y", "c": "z"}]}]}}`,
	} {
		f, err := Parse(filter)
		if err != nil {
			t.Fatal(err)
		}
		args := NewArgs("first")
		fmt.Fprintf(&got, "%s\n    %s\n", filter, f.SQL("c.metadata", args, "indexed"))
		for i, v := range args.Values()[1:] {
			fmt.Fprintf(&got, "    $%d = %q\n", i+2, v)
		}
	}
	if *update {
		if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
