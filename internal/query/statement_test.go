package query

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// TestStatements pins the statement of each kind of search as it is sent, with its
// settings and parameters, so that a change of shape is seen in review.
func TestStatements(t *testing.T) {
	t.Parallel()
	i := index.Index{
		ID: 7, Generation: 1, Dimension: 3, Metric: index.Cosine, VectorType: index.Vector, Config: index.Config{Type: index.HNSW},
		MetadataIndexes: []string{"year"}, Built: true, EmbeddingModel: "openai/text-embedding-3-small", TextLanguage: "english",
	}
	two, err := filter.Parse(`{"lang": "en", "year": {"$gte": 2020}}`)
	if err != nil {
		t.Fatal(err)
	}
	few := estimate{matching: 500, total: 50_000, indexed: true}
	many := estimate{matching: 50_000, total: 50_000}
	terms := queryTerms{
		terms: []term{
			{Quoted: "'walk'", Dimension: 11, Chunks: 40, Total: 50_000, Visible: true},
			{Quoted: "'graph'", Dimension: 5, Chunks: 900, Total: 50_000, Visible: true},
		},
	}
	phrases := queryTerms{terms: terms.terms, phrases: []phrase{{Text: "graph walk", Query: "'graph' <-> 'walk'"}}}
	vector, hybrid, keyword := Request{}, Request{}, Request{}
	vector.Mode, hybrid.Mode, keyword.Mode = Vector, Hybrid, Keyword
	hybrid.QueryText, keyword.QueryText = "graph walk", "graph walk"
	listed, found := vector, keyword
	listed.OrderBy = []filter.Order{{Field: "published", Descending: true}, {Field: "maker.name"}}
	found.OrderBy = listed.OrderBy
	nearby := vector
	nearby.OrderBy = []filter.Order{{Field: "place", Origin: map[string]any{"lat": 52.5, "lon": 13.4}}}
	around, err := filter.Parse([]byte(`{"place": {"$geoRadius": {"center": {"lat": 52.5, "lon": 13.4}, "radius": 1500}}}`))
	if err != nil {
		t.Fatal(err)
	}

	for _, tc := range []struct {
		name    string
		request Request
		filter  filter.Filter
		edit    func(s *search)
		terms   queryTerms
	}{
		{name: "vector_exact", request: vector},
		{name: "vector_exact_filter", request: vector, filter: two, edit: func(s *search) { s.estimate = few }},
		{name: "vector_exact_spread", request: vector, edit: func(s *search) { s.request.maxPerDocument, s.spread = 2, true }},
		{name: "vector_index_scan", request: vector, edit: func(s *search) { s.plan, s.estimate = indexScan, many }},
		{name: "vector_index_scan_filter", request: vector, filter: two, edit: func(s *search) { s.plan, s.estimate = indexScan, many }},
		{name: "vector_index_scan_vectors", request: vector, edit: func(s *search) { s.plan, s.estimate, s.request.includeVectors = indexScan, many, true }},
		{name: "vector_exact_like", request: vector, edit: func(s *search) {
			s.request.examples.excluded = excluded{[]string{"a"}, []string{"0198c6a2-0000-7000-8000-000000000001"}}
		}},
		{name: "hybrid_exact_web", request: hybrid, terms: terms, edit: func(s *search) {
			s.request.conditions = []condition{{alternatives: []operand{{query: "'crane'"}, {text: "fees", title: true}}}, {without: true, alternatives: []operand{{query: "'draft'"}}}}
		}},
		{name: "vector_exact_around", request: vector, filter: around},
		{name: "ordered_by_distance", request: nearby},
		{name: "plain_exact", request: vector, edit: func(s *search) { s.request.plain = true }},
		{name: "plain_index_scan", request: vector, edit: func(s *search) { s.plan, s.estimate, s.request.plain = indexScan, many, true }},
		{name: "plain_list", request: vector, filter: two, edit: func(s *search) { s.request.plain, s.request.vector = true, nil }},
		{name: "keyword", request: keyword, terms: terms},
		{name: "keyword_filter", request: keyword, filter: two, terms: terms},
		{name: "keyword_pairs", request: keyword, terms: terms, edit: func(s *search) {
			s.keywords.pairs = adjacency{phrases: []string{"('graph') <1> ('walk')"}, weights: []float64{4}, total: 4}
		}},
		{name: "keyword_phrases", request: keyword, terms: phrases},
		{name: "keyword_spread", request: keyword, terms: terms, edit: func(s *search) { s.request.maxPerDocument, s.spread = 2, true }},
		{name: "hybrid_exact", request: hybrid, terms: terms},
		{name: "hybrid_exact_filter", request: hybrid, filter: two, terms: terms, edit: func(s *search) { s.estimate = few }},
		{name: "hybrid_exact_spread", request: hybrid, terms: terms, edit: func(s *search) { s.request.maxPerDocument, s.spread = 2, true }},
		{name: "hybrid_index_scan", request: hybrid, terms: terms, edit: func(s *search) { s.plan, s.estimate = indexScan, many }},
		{name: "hybrid_index_scan_filter", request: hybrid, filter: two, terms: terms, edit: func(s *search) { s.plan, s.estimate = indexScan, many }},
		{name: "hybrid_index_scan_rrf", request: hybrid, terms: terms, edit: func(s *search) { s.plan, s.estimate, s.request.fusion.Method = indexScan, many, RRF }},
		{name: "hybrid_few", request: hybrid, terms: terms, edit: func(s *search) { s.plan, s.estimate, s.rest = indexScan, many, &rest{} }},
		{name: "hybrid_min_similarity", request: hybrid, terms: terms, edit: func(s *search) { s.plan, s.estimate, s.request.minSimilarity = indexScan, many, new(0.4) }},
		{name: "keyword_min_similarity", request: keyword, terms: terms, edit: func(s *search) { s.request.minSimilarity = new(0.4) }},
		{name: "ordered_filter", request: listed, filter: two, edit: func(s *search) { s.request.vector = nil }},
		{name: "ordered_keyword", request: found, terms: terms},
		{name: "hybrid_without_terms", request: hybrid, edit: func(s *search) { s.plan, s.estimate = indexScan, many }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.request.QueryVector, tc.request.Filter = []float32{1, 0, 0.5}, tc.filter
			p, err := tc.request.prepare()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.settle(i); err != nil {
				t.Fatal(err)
			}
			s := search{index: i, request: p, plan: exact, keywords: tc.terms.keywords(), calibration: index.Calibration{Scale: i.Trusted(index.Scale{})}}
			if tc.edit != nil {
				tc.edit(&s)
			}
			checkGolden(t, "testdata/statements/"+tc.name+".sql", script(s))
		})
	}
}

// TestExampleStatements pins the statements that read examples.
func TestExampleStatements(t *testing.T) {
	t.Parallel()
	i := index.Index{ID: 7, Generation: 1, Dimension: 3, Metric: index.Cosine, VectorType: index.HalfVec}
	within, err := filter.Parse(`{"lang": "en"}`)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range []Example{{ID: "a"}, {DocumentID: "0198c6a2-0000-7000-8000-000000000001"}, {URI: "a.md"}} {
		args := filter.NewArgs("default")
		all.WriteString(new(data.DB).Handle("acme").OfIndex(i.ID, i.Generation).SQL(exampleSQL(args, i, within, e)) + "\n\n\\bind")
		for _, v := range args.Values() {
			all.WriteString(" " + literal(v))
		}
		all.WriteString(" \\g\n\n")
	}
	checkGolden(t, "testdata/statements/examples.sql", all.String())
	i.TextLanguage = "english"
	checkGolden(t, "testdata/statements/conditions.sql", compileSQL(i)+"\n")
}

func TestCountStatements(t *testing.T) {
	t.Parallel()
	f, err := filter.Parse(`{"team": "red"}`)
	if err != nil {
		t.Fatal(err)
	}
	i := index.Index{ID: 7, Generation: 1}
	within := scope{namespace: "default", filter: f}
	for name, tc := range map[string]struct {
		match  string
		fields []string
	}{"count": {"", nil}, "count_facets": {"", []string{"kind", "maker.name"}}, "count_matches": {"'graph' | 'walk'", []string{"kind"}}} {
		args := filter.NewArgs()
		statement := new(data.DB).Handle("acme").OfIndex(i.ID, i.Generation).SQL(countSQL(i, within, matching{terms: tc.match}, tc.fields, args))
		checkGolden(t, "testdata/statements/"+name+".sql", statement+"\n\n\\bind "+fmt.Sprint(args.Values())+"\n")
	}
}

// script returns a search as psql runs it, in a transaction of its own.
func script(s search) string {
	args := filter.NewArgs()
	statement := new(data.DB).Handle("acme").OfIndex(s.index.ID, s.index.Generation).SQL(s.sql(args))
	var b strings.Builder
	b.WriteString("BEGIN;\nSET LOCAL role = 'tenant_acme';\n")
	for _, setting := range s.settings(len(args.Values())) {
		fmt.Fprintf(&b, "SET LOCAL %s = '%s';\n", setting.name, setting.value)
	}
	b.WriteString("\n" + statement + "\n\n\\bind")
	for _, v := range args.Values() {
		b.WriteString(" " + literal(v))
	}
	b.WriteString(" \\g\nCOMMIT;\n")
	return b.String()
}

// literal writes a parameter as psql's \bind takes it.
func literal(v any) string {
	text := fmt.Sprint(v)
	if list, ok := v.([]string); ok {
		for i, element := range list {
			list[i] = `"` + element + `"`
		}
		text = "{" + strings.Join(list, ",") + "}"
	}
	return "'" + strings.ReplaceAll(text, "'", `\'`) + "'"
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// Statements are prepared once for each connection and text, so none may contain what differs between questions.
func TestQuestionsShareAStatement(t *testing.T) {
	t.Parallel()
	i := index.Index{ID: 7, Generation: 1, Name: "docs", Dimension: 3, Metric: index.Cosine, VectorType: index.Vector, EmbeddingModel: "openai/small"}
	for _, fusion := range []Method{Weighted, RRF} {
		texts := map[string]bool{}
		for _, n := range []float64{1, 2} {
			request := Request{Fusion: Fusion{Method: fusion}}
			request.Mode, request.QueryText, request.QueryVector = Hybrid, "graph walk", []float32{1, 0, float32(n)}
			p, err := request.prepare()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.settle(i); err != nil {
				t.Fatal(err)
			}
			s := search{index: i, request: p, plan: indexScan, rest: &rest{}, calibration: index.Calibration{Scale: index.Scale{Near: 0.8 + n/10, Far: n / 10, Match: n}}}
			s.keywords = &keywords{
				match: "'graph'", rarity: n / 4, total: int64(1000 * n), ideal: n,
				pairs: adjacency{phrases: []string{"('graph') <1> ('walk')"}, weights: []float64{n}, total: n},
			}
			texts[s.sql(filter.NewArgs())] = true
		}
		if len(texts) != 1 {
			t.Errorf("%s: each question has a statement of its own: %v", fusion, slices.Collect(maps.Keys(texts)))
		}
	}
}
