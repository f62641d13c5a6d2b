package table

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// sources are two tables for tests.
func sources() []Source {
	column := func(name string, kind grid.Type) grid.Column { return grid.Column{Name: name, Title: name, Type: kind} }
	return []Source{
		{DocumentID: "00000000-0000-0000-0000-000000000001", Ordinal: 1, Name: "sales", Description: grid.Description{Columns: []grid.Column{
			column("day", grid.Date), column("region", grid.Text), column("part", grid.Text), column("quantity", grid.Number), column("unit_price", grid.Number), column("paid", grid.Boolean)}}},
		{DocumentID: "00000000-0000-0000-0000-000000000002", Ordinal: 1, Name: "parts", Description: grid.Description{Columns: []grid.Column{
			column("part", grid.Text), column("weight", grid.Number)}}},
	}
}

// compile compiles SQL over the two tables, of which its joins take the second.
func compile(sql string) (Statement, error) {
	p, err := ParseSQL(sql)
	if err != nil {
		return Statement{}, err
	}
	all := sources()[:1]
	for range p.Joins {
		all = append(all, sources()[1])
	}
	return Compile(p, all)
}

func hostile(t testing.TB) (all []string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/hostile.json")
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// vocabulary is all that statements are made of.
var vocabulary = regexp.MustCompile(`^(C|ALL|SELECT|FROM|WHERE|AND|OR|NOT|AS|ON|JOIN|LEFT|CROSS|LATERAL|GROUP|BY|ORDER|DESC|NULLS|LAST|LIMIT|OFFSET|DISTINCT|COLLATE|CASE|WHEN|THEN|ELSE|END|IS|IN|NULL|FILTER|WITHIN|WITH|ORDINALITY|ANY|ARRAY|EXISTS|LIKE|` +
	`[a-z]\d*|[rfbskxmcn]|tenant|cells|[nvasr]\d+|document_id|ordinal|values|matched|ranges|int|text|uuid|numeric|boolean|bigint|date|timestamp|jsonb|epoch|isodow|` +
	`jsonb_array_elements|jsonb_build_array|jsonb_build_object|jsonb_strip_nulls|jsonb_typeof|count|sum|avg|min|max|percentile_disc|range_agg|int4range|coalesce|string_agg|lower|upper|unnest|nullif|substr|left|ceil|floor|round|abs|btrim|` +
	`extract|date_trunc|least|greatest|true|false|starts_with|strpos|ragd_shared|instant|instants?_?[a-z]*|year|quarter|month|week|element\d+|pg_catalog)$`)

var words = regexp.MustCompile(`[\pL_][\pL\pN_]*`)

// Whatever is asked, statements have only words of this package, and no text of the question.
func TestNoTextOfAQuestionIsPartOfAStatement(t *testing.T) {
	t.Parallel()
	all := hostile(t)
	if len(all) < 200 {
		t.Fatalf("%d inputs", len(all))
	}
	refused := 0
	for _, sql := range all {
		s, err := compile(sql)
		if err != nil {
			refused++
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%.200q: %v", sql, err)
			}
			continue
		}
		for _, word := range words.FindAllString(s.SQL, -1) {
			if !vocabulary.MatchString(word) {
				t.Errorf("%.200q makes the word %q in %s", sql, word, s.SQL)
			}
		}
		if strings.Contains(s.SQL, "--") || strings.Contains(s.SQL, ";") || strings.Contains(s.SQL, "/*") {
			t.Errorf("%.200q: %s", sql, s.SQL)
		}
	}
	t.Logf("%d of %d are refused", refused, len(all))
}

// What SQL means is written as a plan, which means the same.
func TestThePlanOfAStatementCompilesAlike(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		"SELECT region, sum(quantity * (unit_price + 1)) AS total FROM sales WHERE day >= '2026-01-01' AND NOT (paid OR quantity / 2 > -1) GROUP BY region HAVING count(*) > 1 ORDER BY total DESC LIMIT 3",
		"SELECT s.part FROM sales AS s LEFT JOIN parts AS p ON s.part = p.part WHERE p.weight IS NULL",
		"SELECT DISTINCT part FROM sales WHERE part LIKE 'a_b%' OR part IN ('x', 'it''s')",
	} {
		p, err := ParseSQL(sql)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Select {
			e, err := p.Select[i].expression("")
			if err != nil || e.String() != p.Select[i].Value {
				t.Errorf("%q is read as %v, %v", p.Select[i].Value, e, err)
			}
		}
		first, err := compile(sql)
		if err != nil {
			t.Fatal(err)
		}
		again, err := compile(sql)
		if err != nil || first.SQL != again.SQL || !slices.EqualFunc(first.Args, again.Args, func(a, b any) bool { x, _ := json.Marshal(a); y, _ := json.Marshal(b); return string(x) == string(y) }) {
			t.Errorf("%q compiles in two ways", sql)
		}
	}
}

func FuzzParseSQL(f *testing.F) {
	for _, sql := range hostile(f) {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		s, err := compile(sql)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%q: %v", sql, err)
			}
			return
		}
		for _, word := range words.FindAllString(s.SQL, -1) {
			if !vocabulary.MatchString(word) {
				t.Errorf("%q makes the word %q in %s", sql, word, s.SQL)
			}
		}
	})
}
