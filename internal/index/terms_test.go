package index_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

func TestTermsOfTextsAreThoseOfTheTrigger(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "acme")
	// A language that the analyzer does not know.
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", Dimension: 8, TextLanguage: "greek"}); err != nil {
		t.Fatal(err)
	}
	parsed := index.Index{TextLanguage: "greek"}
	h := s.DB.Handle("acme")
	indexID, err := data.Value[int64](t.Context(), h, `SELECT index_id FROM tenant.indexes WHERE index_name = 'docs'`)
	if err != nil {
		t.Fatal(err)
	}
	var many strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&many, "w%d ", i)
	}
	texts := map[string]string{
		"nothing":     " ",
		"one word":    " word",
		"repetition":  "The gear that gears with other gears",
		"repeated":    " " + strings.Repeat("again and again the tide ", 60),
		"odd letters": " Straße ΣΊΣΥΦΟΣ naïve 数据库 🦀 it's O'Neil's e-mail a@b.example https://c.example/d?e=f -1.5e3",
		"many words":  " " + many.String(),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			type row struct {
				Same    bool
				Weights int
			}
			chunks := h.OfIndex(indexID, 0)
			var got row
			err := chunks.Tx(t.Context(), func(tx *data.Tx) error {
				terms, err := parsed.TermsOf(t.Context(), tx, []index.Text{{Title: "a title", Body: "another"}, {Body: text}})
				if err != nil {
					return err
				}
				if len(terms) != 2 {
					t.Fatalf("terms of %d texts", len(terms))
				}
				_, err = tx.Exec(t.Context(), `
					INSERT INTO tenant.chunk (chunk_id, metadata, embedding, text, terms, term_weights)
					VALUES ('by ' || $1, '{}', array_fill(1, ARRAY[8])::vector, $2, NULL, NULL),
						('given ' || $1, '{}', array_fill(1, ARRAY[8])::vector, $2, $3, $4)`,
					name, text, terms[1].Terms, terms[1].Weights)
				if err != nil {
					return err
				}
				got, err = data.Get[row](t.Context(), tx, `
					SELECT coalesce(a.terms, '') = b.terms AND (a.term_weights IS NOT DISTINCT FROM b.term_weights OR 'many words' = $1) AS same,
						coalesce(length(b.terms), 0) AS weights
					FROM tenant.chunk AS a, tenant.chunk AS b WHERE a.chunk_id = 'by ' || $1 AND b.chunk_id = 'given ' || $1`, name)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if !got.Same {
				t.Errorf("the terms or the weights differ")
			}
			if nothing := name == "nothing"; nothing != (got.Weights == 0) {
				t.Errorf("%d terms", got.Weights)
			}
		})
	}
}

func TestTermsOfTitlesAndHeadingsWeighMore(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	var got []string
	err := s.DB.Handle("acme").Tx(t.Context(), func(tx *data.Tx) error {
		terms, err := index.Index{TextLanguage: "english"}.TermsOf(t.Context(), tx, []index.Text{
			{Title: "Harbours", Body: "tides"}, {Headings: "Harbours", Body: "harbour tides"}, {Body: "harbour tides"}, {Body: "AB-1234 at Tides' sea"},
		})
		for _, of := range terms {
			text, err := data.Value[string](t.Context(), tx, `
				SELECT $1::tsvector::text || (SELECT string_agg(' ' || round(weight::numeric, 3), '' ORDER BY weight)
					FROM regexp_split_to_table(trim(split_part($2::sparsevec::text, '/', 1), '{}'), ',|[0-9]+:') AS weight WHERE weight <> '')`,
				of.Terms, of.Weights)
			if err != nil {
				return err
			}
			got = append(got, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"'harbour':1A 'harbour\x01' 'tide':2 0.578 0.804", "'harbour':1A,2 'harbour\x01' 'tide':3 0.577 0.731", `'harbour':1 'tide':2 0.578 0.578`, `'1234':2 'ab':1 'ab1234':1 'at':3 'sea':5 'tide':4 0.573 0.573 0.573 0.573 0.573 0.573`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConstantsOfTermsAreTheSameInSQLAndGo(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "constants")
	h := s.DB.Handle("constants")
	source, err := data.Value[string](t.Context(), h, `SELECT prosrc FROM pg_catalog.pg_proc WHERE oid = 'ragd_shared.weigh_terms'::regproc`)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]float64{}
	for _, match := range regexp.MustCompile(`(\w+)\s+CONSTANT \w+ := ([0-9.]+);`).FindAllStringSubmatch(source, -1) {
		if constants[match[1]], err = strconv.ParseFloat(match[2], 64); err != nil {
			t.Fatal(err)
		}
	}
	if !maps.Equal(constants, index.TermConstants) {
		t.Errorf("the constants are %v in weigh_terms and %v in Go", constants, index.TermConstants)
	}
	if dimensions := fmt.Sprintf("}/%d'", index.TermDimensions); !strings.Contains(source, dimensions) {
		t.Errorf("weigh_terms does not write %s", dimensions)
	}
	for _, term := range []string{"", "a", "harbour", "elevenbytes", "twelve bytes", "thirteen byte", "ein Satz von einiger Länge, 数据库"} {
		dimension, err := data.Value[int64](t.Context(), h, `SELECT ragd_shared.term_dimension($1)`, term)
		if err != nil || dimension != index.TermDimension(term) {
			t.Errorf("%q has the dimension %d in SQL and %d in Go, %v", term, dimension, index.TermDimension(term), err)
		}
	}
	largest, err := data.Value[int64](t.Context(), h, `SELECT max(ragd_shared.term_dimension(n::text)) FROM generate_series(1, 1000) AS n`)
	if err != nil || largest > index.TermDimensions {
		t.Errorf("a term has the dimension %d of %d, %v", largest, index.TermDimensions, err)
	}
}

func TestTermsOfContentsWeighLess(t *testing.T) {
	t.Parallel()
	h := setup(t).service.DB.Handle("acme")
	const text = "tides tides tides"
	terms, err := index.Index{TextLanguage: "english"}.TermsOf(t.Context(), h, []index.Text{{Title: "Tides", Body: text}, {Title: "Tides", Body: text, Contents: true}})
	if err != nil {
		t.Fatal(err)
	}
	weight := func(n int) float64 { // of the only term: the last of three times four bytes and a dimension
		return float64(math.Float32frombits(binary.BigEndian.Uint32(terms[n].Weights[16:])))
	}
	if got := weight(1) / weight(0); math.Abs(got-index.ContentsWeight) > 1e-6 {
		t.Errorf("the term weighs %g of others", got)
	}
	if len(terms[1].Terms) >= len(terms[0].Terms) {
		t.Error("the term is still marked as strong")
	}
}
