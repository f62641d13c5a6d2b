package filter

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var differentialTime = flag.Duration("differential", 2*time.Second, "how long to compare random filters with the database")

// TestSQLAgreesWithMatch runs random filters over random metadata both in the
// database and in memory. Names and values come from small sets, so that paths
// often hit fields, and that strings, numbers and booleans with the same text
// are compared.
func TestSQLAgreesWithMatch(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := generator{rand.New(rand.NewPCG(seed, 1))}
	filters, matched, refused := 0, 0, 0
	for end := time.Now().Add(*differentialTime); time.Now().Before(end); {
		rows := make([]goldenRow, 200)
		for i := range rows {
			rows[i] = goldenRow{"r" + strconv.Itoa(1000+i), random.object(3)}
		}
		load(t, conn, rows, []string{"a", "a.b", "ä ' \\ $"})
		for range 400 {
			raw := random.filter(3)
			if random.IntN(4) == 0 {
				raw, _ = withReferences(random, raw, "").(map[string]any)
			}
			f, err := Parse(raw)
			if err != nil {
				refused++
				continue
			}
			if f, err = f.Resolve(values(map[string]any{"claims.a": random.value(1), "subject": random.scalar()})); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, f, err)
			}
			want := []string{}
			for _, row := range rows {
				if f.Match(row.Metadata) {
					want = append(want, row.ID)
				}
			}
			execution := executions[random.IntN(len(executions))]
			execute(t, conn, "SET enable_seqscan = "+execution.seqscan)
			var indexed []string
			if execution.indexed {
				indexed = f.Fields()
			}
			got, err := selectIDs(t.Context(), conn, execution.mode, f, indexed...)
			if err != nil {
				t.Fatalf("seed %d: %s by %s: %v", seed, f, execution.name, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: %s by %s (-memory +database):\n%s\n%s", seed, f, execution.name, diff, differing(rows, want, got))
			}
			filters++
			matched += len(got)
		}
	}
	t.Logf("%d filters agreed, %d were refused, %.1f of 200 rows matched on average", filters, refused, float64(matched)/float64(max(1, filters)))
}

// differing returns the metadata of the first row that is in only one of a and b.
func differing(rows []goldenRow, a, b []string) string {
	for _, row := range rows {
		if slices.Contains(a, row.ID) != slices.Contains(b, row.ID) {
			text, _ := json.Marshal(row.Metadata)
			return string(text)
		}
	}
	return ""
}

type generator struct{ *rand.Rand }

func pick[T any](r generator, from ...T) T { return from[r.IntN(len(from))] }

func (r generator) name() string {
	return pick(r, "a", "a", "a", "b", "b", "c", "0", "1", "-1", "+0", " 1", "", "ä ' \\ $", "a.b", `x"y`)
}

func (r generator) field() string {
	switch r.IntN(8) {
	case 0:
		return pick(r, "a.b", "a.0", "a.0.b", "b.a", "0.a", "a.-1", "a.+0", "a. 1", `a\.b`, "a.a.b", "0.0", "b.1.a", ".", "a.")
	case 1:
		return r.name()
	}
	return pick(r, "a", "a", "b", "c", "0")
}

// time returns texts that state times, most of them one of a few, and texts that nearly do.
func (r generator) time() string {
	return pick(r, "2024-02-29", "2024-02-29T00:00:00Z", "2024-02-28T19:00-05:00", "2024-02-29 05:30:00+0530", "2024-02-29t00:00z", "2024-02-29T10:00",
		"2024-02-29T10:00:00.123456789Z", "2024-02-29T10:00:00.1234565Z", "2024-02-29T09:59:59.9999999+00", "1969-12-31T23:59:59.999999Z", "0001-01-01T00:00+15:59",
		"9999-12-31T23:59:59-15:59", "2023-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "2024-13-01", "2024-02-29T24:00", "2024-02-29T10:00.5",
		"2024-02-29T10:00+16", "2024-02-29T10:00:60Z", " 2024-02-29", "2024-02-29\n", "2024-02-29Z", "٢٠٢٤-02-29", "now-1d", "now")
}

func (r generator) scalar() any {
	switch r.IntN(11) {
	case 0:
		return nil
	case 7:
		return r.time()
	case 1:
		return r.IntN(2) == 0
	case 2, 3:
		return float64(pick(r, -3, 0, 1, 2, 10))
	case 4:
		return pick(r, 0.5, 1.5, -0.25, 1e21, 1e-7, 1e300, 0.1)
	case 5:
		return json.Number(pick(r, "1.0", "1.50", "10e0", "1e1", "-0", "-0.0", "0e3", "0.00e1", "123456789012345678901234567890123456789.5",
			"1e400", "0.1000000000000000055511151231257827", "1000000000000000000000", "1.5e-3", "5e-324", "100.0e-1"))
	case 6:
		return pick(r, "1", "1.0", "1.5", "10", "1e1", "-0", "0", "true", "false", "null", "1000000000000000000000", "-3", "+1", " 1", "01", "1e400")
	}
	return pick(r, "", "a", "b", "abc", "ABC", "a.c", "x\ny", "ä", "Ä", "ß", "ẞ", "σ", "ς", "Σ", "K", "k", "100%", "e_c", `\`, `"`, "[", "]", "[1]",
		"{}", `["a"]`, `{"a": 1}`, "\u0001\u007f\b\f", "<&>\u2028", "🚢", "'; DROP TABLE row; --", "$1", "2024-01-15T10:00:00Z", "z")
}

func (r generator) value(depth int) any {
	switch {
	case depth > 0 && r.IntN(6) == 0:
		return r.object(depth - 1)
	case depth > 0 && r.IntN(4) == 0:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = r.value(depth - 1)
		}
		return list
	}
	return r.scalar()
}

func (r generator) object(depth int) map[string]any {
	object := map[string]any{}
	for range r.IntN(5) {
		object[r.name()] = r.value(depth)
	}
	return object
}

func (r generator) list(element func() any) []any {
	n := r.IntN(4)
	if r.IntN(30) == 0 {
		n = 50
	}
	list := make([]any, n)
	for i := range list {
		list[i] = element()
	}
	return list
}

// filter returns a filter object of field names and logical operators.
func (r generator) filter(depth int) map[string]any {
	object := map[string]any{}
	for range 1 + r.IntN(2) {
		if depth > 0 && r.IntN(3) == 0 {
			key := pick(r, "$and", "$or", "$nor", "$not")
			if key == "$not" {
				object[key] = r.filter(depth - 1)
				continue
			}
			object[key] = r.list(func() any { return r.filter(min(depth-1, 1)) })
			continue
		}
		object[r.field()] = r.condition(depth)
	}
	if r.IntN(40) == 0 {
		clear(object)
	}
	return object
}

func (r generator) condition(depth int) any {
	switch r.IntN(10) {
	case 0, 1:
		return r.scalar()
	case 2:
		return r.list(r.scalar)
	case 3:
		return map[string]any{r.field(): r.condition(depth - 1)}
	}
	return r.operators(depth)
}

func (r generator) operators(depth int) map[string]any {
	object := map[string]any{}
	for range 1 + r.IntN(2) {
		switch key := pick(r, "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$all", "$elemMatch", "$elemMatch", "$exists", "$size", "$regex", "$contains", "$not"); key {
		case "$eq", "$ne":
			object[key] = r.value(2)
		case "$in", "$nin", "$all":
			object[key] = r.list(r.scalar)
			if r.IntN(4) == 0 {
				object[key] = r.scalar()
			}
		case "$elemMatch":
			if r.IntN(2) == 0 {
				object[key] = r.operators(depth - 1)
			} else {
				object[key] = r.filter(max(0, depth-1))
			}
		case "$exists":
			object[key] = r.IntN(2) == 0
		case "$size":
			object[key] = pick[any](r, 0, 1, "2", map[string]any{"$gte": 1, "$lt": 3.0}, map[string]any{"$ne": 1})
		case "$regex":
			object[key] = pick(r, "^a", "b$", "[0-9]+", "a.c", "(?i)ABC", `\.`, "x|y", "^$", `\d`, "x.y", "^y", "", `\yabc\y`, `^x\Z`)
			if r.IntN(3) == 0 {
				object["$options"] = pick(r, "i", "m", "s", "ms", "im", "u")
			}
		case "$contains":
			object[key] = pick[any](r, r.scalar(), r.scalar(), r.list(r.scalar))
		case "$not":
			if depth > 0 {
				object[key] = r.operators(depth - 1)
			} else {
				object["$exists"] = true
			}
		default:
			object[key] = r.scalar()
		}
	}
	return object
}
