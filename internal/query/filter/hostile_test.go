package filter

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// TestParseRejectsInvalidFilters checks for each kind of invalid filter the field
// that the error names and a part of its reason.
func TestParseRejectsInvalidFilters(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	nested := func(open, close string, n int) string {
		return strings.Repeat(open, n) + "1" + strings.Repeat(close, n)
	}
	for _, tc := range []struct {
		name   string
		filter any
		field  string
		reason string
	}{
		{"a number", 5, "filter", "must be an object or the JSON text of one, got a Go int"},
		{"a list", []any{object{"a": 1}}, "filter", "must be an object"},
		{"a text that is no JSON", `{"a": `, "filter", "is not valid JSON"},
		{"text after the object", `{"a": 1} x`, "filter", "is not valid JSON"},
		{"the text null", `null`, "filter", "must be a JSON object, got null"},
		{"the text of a list", `[{"a": 1}]`, "filter", "must be a JSON object, got a list"},
		{"a key given twice", `{"$and": [{"a": 1, "a": 2}]}`, "filter.$and[0].a", "given twice"},
		{"text of 10 MB", `{"a": "` + strings.Repeat("x", 10<<20) + `"}`, "filter", "1048576"},
		{"strings of 10 MB", object{"a": object{"$eq": strings.Repeat("x", 10<<20)}}, "filter", "1048576"},
		{"a list of 10 MB", object{"a": list(10000, strings.Repeat("x", 1000))}, "filter", "1048576"},
		{"text 10,000 deep", nested(`{"a":`, "}", 10000), "filter", "64 levels"},
		{"a list 10,000 deep", `{"a":` + nested("[", "]", 9999) + "}", "filter", "64 levels"},
		{"text 200,000 deep", nested(`{"a":`, "}", 100000), "filter", ""},
		{"an object 10,000 deep", deep(10000), "filter", "64 levels"},
		{"logic 10,000 deep", nested(`{"$not":`, "}", 10000), "filter", "64 levels"},
		{"a value 100 deep", object{"a": object{"$eq": deep(100)}}, "filter", "64 levels"},
		{"a path of 65 keys", object{"a" + strings.Repeat(".a", 64): 1}, "filter." + strings.Repeat("a.", 32) + "...", "65 levels"},
		{"100,000 branches", object{"$or": list(100000, object{"a": 1.0})}, "filter", "1000 conditions"},
		{"100,000 fields", fields(100000), "filter", "1000 conditions"},
		{"100,000 operators", object{"a": object{"$not": fields(100000)}}, "filter", "1000 conditions"},
		{"100,000 sizes", object{"a": object{"$size": fields(100000)}}, "filter", "1000 conditions"},
		{"2,000,000 nulls", object{"a": object{"$eq": list(2000000, nil)}}, "filter", "1048576 bytes"},
		{"an empty name", object{"": object{"$near": 1}}, "filter..$near", "Unsupported operator: $near"},
		{"1,001 operators", object{"$and": list(334, object{"a": object{"$gt": 1.0, "$lt": 2.0}})}, "filter", "1000 conditions"},
		{"10,001 values", object{"a": object{"$in": list(10001, 1.0)}}, "filter.a.$in", "10000"},
		{"1,001 values that all count", object{"a": object{"$all": numbers(1001)}}, "filter", "1000 conditions"},
		{"a name of 1,025 bytes", object{strings.Repeat("é", 600): 1}, "filter." + strings.Repeat("é", 32) + "...", "1024"},
		{"a pattern of 513 bytes", object{"a": object{"$regex": strings.Repeat("x", 513)}}, "filter.a.$regex", "512"},
		{"a $contains text of 513 bytes", object{"a": object{"$contains": strings.Repeat("x", 513)}}, "filter.a.$contains", "512"},
		{"NaN", object{"a": math.NaN()}, "filter.a", "finite"},
		{"infinity", object{"a": object{"$gt": math.Inf(1)}}, "filter.a.$gt", "finite"},
		{"a number of 1,001 digits", `{"a": 1e1000}`, "filter.a", "1000 digits"},
		{"a number beyond numeric", `{"a": 1e999999999999}`, "filter.a", "1000 digits"},
		{"a fraction of 1,001 digits", `{"a": {"$lt": 1e-1001}}`, "filter.a.$lt", "1000 digits"},
		{"a huge numeric string", object{"a": object{"$gt": "1e99999"}}, "filter.a.$gt", "1000 digits"},
		{"a huge number in a value", `{"a": {"$eq": [1e5000]}}`, "filter.a.$eq[0]", "1000 digits"},
		{"nul in a value", object{"a": "x\x00y"}, "filter.a", "U+0000"},
		{"nul in JSON text", `{"a": {"$in": ["b", "x\u0000y"]}}`, "filter.a.$in[1]", "U+0000"},
		{"nul in a name", object{"a\x00": 1}, `filter."a\x00"`, "U+0000"},
		{"nul in a pattern", object{"a": object{"$regex": "\x00"}}, "filter.a.$regex", "U+0000"},
		{"nul in a value's key", object{"a": object{"$eq": object{"\x00": 1}}}, `filter.a.$eq."\x00"`, "U+0000"},
		{"invalid UTF-8", object{"a": "\xff"}, "filter.a", "UTF-8"},
		{"invalid UTF-8 in a name", object{"\xff": 1}, `filter."\xff"`, "UTF-8"},
		{"invalid UTF-8 in text", "{\"a\": \"\xff\"}", "filter", "UTF-8"},
		{"a Go type that is not JSON", object{"a": struct{}{}}, "filter.a", "a Go struct {}"},
		{"an unknown operator", object{"price": object{"$near": 3}}, "filter.price.$near", "Unsupported operator: $near"},
		{"an unknown operator on top", object{"$where": "1=1"}, "filter.$where", "Unsupported operator: $where"},
		{"an operator on top", object{"$eq": 3}, "filter.$eq", "Invalid top-level operator: $eq"},
		{"an operator in a branch", object{"$and": []any{object{"$gt": 3}}}, "filter.$and[0].$gt", "Invalid top-level operator"},
		{"logic below a field", object{"a": object{"$or": []any{}}}, "filter.a.$or", "Logical operator $or cannot be used at field level"},
		{"names among operators", object{"a": object{"$gt": 1, "b": 2}}, "filter.a.b", "Invalid operator: b"},
		{"names among operators in an element", object{"a": object{"$elemMatch": object{"$gt": 1, "b": 2}}}, "filter.a.$elemMatch.b", "Invalid operator: b"},
		{"an empty condition", object{"a": object{"b": object{}}}, "filter.a.b", "empty condition"},
		{"a branch that is no object", object{"$or": []any{object{}, 1}}, "filter.$or[1]", "must be a filter object"},
		{"branches that are no list", object{"$and": object{"a": 1}}, "filter.$and", "$and requires a list"},
		{"not of a value", object{"a": object{"$not": 3}}, "filter.a.$not", "$not requires an object"},
		{"not of nothing", object{"$not": object{}}, "filter.$not", "$not cannot be empty"},
		{"elemMatch of nothing", object{"a": object{"$elemMatch": object{}}}, "filter.a.$elemMatch", "requires an object with conditions"},
		{"options alone", object{"a": object{"$options": "i"}}, "filter.a.$options", "not valid without $regex"},
		{"an unknown option", object{"a": object{"$regex": "a", "$options": "iq"}}, "filter.a.$regex", "not 'q'"},
		{"options that are no text", object{"a": object{"$regex": "a", "$options": 1}}, "filter.a.$regex", "$options requires a string"},
		{"a pattern that is no text", object{"a": object{"$regex": 1.0}}, "filter.a.$regex", "$regex requires a string"},
		{"order of booleans", object{"a": object{"$gt": true}}, "filter.a.$gt", "$gt needs a number or a string"},
		{"a list in a list", object{"a": object{"$in": []any{[]any{1.0}}}}, "filter.a.$in[0]", "got a list"},
		{"an object in $all", object{"a": object{"$all": object{"b": 1}}}, "filter.a.$all[0]", "got an object"},
		{"contains an object", object{"a": object{"$contains": object{"b": 1}}}, "filter.a.$contains", "got an object"},
		{"a size that is no length", object{"a": object{"$size": "many"}}, "filter.a.$size", "whole number"},
		{"a fractional size", object{"a": object{"$size": 1.5}}, "filter.a.$size", "whole number"},
		{"a size by regex", object{"a": object{"$size": object{"$regex": "1"}}}, "filter.a.$size.$regex", "$size takes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, err := Parse(tc.filter)
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			}
			var e *fault.Error
			if !errors.As(err, &e) || e.Kind != fault.Invalid || len(e.Violations) != 1 {
				t.Fatalf("got %v, want an Invalid fault about one field", err)
			}
			if e.Violations[0].Field != tc.field || !strings.Contains(e.Violations[0].Reason, tc.reason) {
				t.Errorf("got %s, want %s: ... %s", e.Message, tc.field, tc.reason)
			}
			if len(e.Message) > 1000 {
				t.Errorf("the message has %d bytes", len(e.Message))
			}
		})
	}
}

func list(n int, v any) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = v
	}
	return all
}

func numbers(n int) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = float64(i)
	}
	return all
}

func deep(n int) map[string]any {
	object := map[string]any{"a": 1.0}
	for range n {
		object = map[string]any{"a": object}
	}
	return object
}

func fields(n int) map[string]any {
	object := map[string]any{}
	for i := range n {
		object["f"+strconv.Itoa(i)] = 1.0
	}
	return object
}

// TestOddNamesAndValuesReachTheDatabase stores names and values that would break
// or change SQL if they were spliced into it, and finds them again.
func TestOddNamesAndValuesReachTheDatabase(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	odd := []string{
		`x' OR '1'='1`, `'; DROP TABLE row; --`, `"`, `\`, `\\`, `\'`, `\.`, `$`, `$$`, `$1`, `$eq`, `\$eq`, `{}`, `{a,b}`, `a,b`, `NULL`, `"NULL"`,
		` `, ``, `.`, `..`, `a.b`, `a\`, `%`, `?`, `:x`, `@id`, `0`, `-1`, "\n", "\x01", "\u2028", "é", "🚢", "\u0301", `E'\x41'`, `/*`, `U&'\0041'`,
		strings.Repeat("long ", 100),
	}
	for _, s := range odd {
		load(t, conn, []goldenRow{{"here", map[string]any{s: s}}, {"deep", map[string]any{"outer": map[string]any{s: []any{s}}}}, {"none", nil}}, nil)
		name := (path{s}).String()
		if strings.HasSuffix(s, `\`) {
			name = s
		}
		for filter, want := range map[string]string{
			jsonText(map[string]any{name: s}): "here",
			jsonText(map[string]any{name: map[string]any{"$contains": s, "$gte": "\x01", "$exists": true}}):                 "here",
			jsonText(map[string]any{name: map[string]any{"$eq": s, "$not": map[string]any{"$in": []any{s + "x", "y"}}}}):    "here",
			jsonText(map[string]any{"outer": map[string]any{name: map[string]any{"$elemMatch": map[string]any{"$eq": s}}}}): "deep",
			jsonText(map[string]any{"outer": map[string]any{name: map[string]any{"$eq": []any{s}}}}):                        "deep",
		} {
			if s == "" && strings.Contains(filter, "$gte") {
				continue // the empty text comes before every other
			}
			f, err := Parse(filter)
			if err != nil {
				t.Errorf("%s: %v", filter, err)
				continue
			}
			for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeDescribeExec, pgx.QueryExecModeSimpleProtocol, constants} {
				got, err := selectIDs(t.Context(), conn, mode, f)
				if err != nil || len(got) != 1 || got[0] != want {
					t.Errorf("%s selects %v, %v; want %s", filter, got, err, want)
				}
			}
		}
	}
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestHugeNumbersCompare(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	execute(t, conn, "CREATE TEMP TABLE row (id text, metadata jsonb)")
	execute(t, conn, `INSERT INTO row VALUES ('a', '{"n": 1e400}'), ('b', '{"n": 1e131071}'), ('c', '{"n": 1234567890123456789012345678901234567890}'),
		('d', '{"n": 1e-400}'), ('e', '{"n": "1e400"}'), ('f', '{"n": true}'), ('g', '{"n": {"$gt": 1}}'), ('h', '{"n": [1e400]}'), ('i', '{}')`)
	for filter, want := range map[string]string{
		`{"n": {"$gte": 1e400}}`: "a b",
		`{"n": 1e400}`:           "a",
		`{"n": 1234567890123456789012345678901234567890.00}`: "c",
		`{"n": "1234567890123456789012345678901234567890"}`:  "c",
		`{"n": {"$lt": 1e-399}}`:                             "d",
		`{"n": {"$not": {"$lt": 1e40}}}`:                     "a b",
		`{"n": {"$in": [1e400, 1e-400]}}`:                    "a d h",
	} {
		f, err := Parse(filter)
		if err != nil {
			t.Fatal(err)
		}
		got, err := selectIDs(t.Context(), conn, pgx.QueryExecModeCacheStatement, f)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s selects %v, %v; want %s", filter, got, err, want)
		}
	}
}

// TestWidestFilterRuns runs a filter with the maximum number of conditions, three
// times over: an API key, a request and a request context may each bring one.
func TestWidestFilterRuns(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	load(t, conn, []goldenRow{{"a", map[string]any{"f498": 498.0, "l": 9999.0}}}, nil)
	branches := make([]any, 499)
	for i := range branches {
		branches[i] = map[string]any{"f" + strconv.Itoa(i): float64(i)}
	}
	wide, err := Parse(map[string]any{"$or": branches, "l": map[string]any{"$in": numbers(MaxList)}})
	if err != nil {
		t.Fatal(err)
	}
	f := And(wide, wide, wide)
	start := time.Now()
	got, err := selectIDs(t.Context(), conn, pgx.QueryExecModeDescribeExec, f)
	if err != nil || len(got) != 1 {
		t.Fatalf("got %v, %v", got, err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// TestRegexFailuresAreRecognisable checks the SQLSTATEs that the package comment
// promises.
func TestRegexFailuresAreRecognisable(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	load(t, conn, []goldenRow{{"a", map[string]any{"s": strings.Repeat("a", 3000) + "b"}}}, nil)
	execute(t, conn, "SET statement_timeout = '300ms'")
	for pattern, want := range map[string]string{
		`(`:                        "2201B",
		`((a{255}){255}){255}`:     "2201B",
		`^(a+)(a+)(a+)\1\2\3a\1b$`: "57014",
	} {
		f, err := Parse(map[string]any{"s": map[string]any{"$regex": pattern}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = selectIDs(t.Context(), conn, pgx.QueryExecModeCacheStatement, f)
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != want {
			t.Errorf("%s: %v, want SQLSTATE %s", pattern, err, want)
		}
	}
}
