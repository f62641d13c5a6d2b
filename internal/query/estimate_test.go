package query

import (
	"slices"
	"testing"

	"github.com/ragdhq/ragd/internal/index"
)

// ofVectors is an index of vectors of 384 dimensions, and ofTOAST one whose vectors are
// stored outside of the rows.
var (
	ofVectors = index.Index{Dimension: 384, VectorType: index.Vector, Config: index.Config{Type: index.HNSW}}
	ofTOAST   = index.Index{Dimension: 2_000, VectorType: index.Vector, Config: index.Config{Type: index.HNSW}}
)

func TestTheCheaperPlanIsChosen(t *testing.T) {
	t.Parallel()
	dry := &scans{}
	for range 10 {
		dry.ended(true)
	}
	const total = 50_000
	for _, tc := range []struct {
		name          string
		i             index.Index
		e             estimate
		wanted, width int
		want          plan
	}{
		{"all of many", ofVectors, estimate{matching: total, total: total}, 10, 80, indexScan},
		{"half", ofVectors, estimate{matching: total / 2, total: total, indexed: true}, 10, 80, indexScan},
		{"1 %", ofVectors, estimate{matching: 500, total: total, indexed: true}, 10, 80, exact},
		{"1 %, but nothing finds them", ofVectors, estimate{matching: 500, total: total}, 10, 80, exact},
		{"20 %, but nothing finds them", ofVectors, estimate{matching: 10_000, total: total}, 10, 80, indexScan},
		{"5 %, but nothing finds them, and a scan misses some", ofVectors, estimate{matching: 1_000, total: 20_000}, 10, 80, exact},
		{"5 % of a million, but nothing finds them", ofVectors, estimate{matching: 50_000, total: 1_000_000}, 10, 80, indexScan},
		{"0.1 %, and nothing finds them", ofVectors, estimate{matching: 50, total: total}, 10, 80, exact},
		{"1 % of a million, but nothing finds them", ofVectors, estimate{matching: 10_000, total: 1_000_000}, 10, 80, indexScan},
		{"fewer than wanted", ofVectors, estimate{matching: 5, total: total, indexed: true}, 10, 80, exact},
		{"none", ofVectors, estimate{total: total, indexed: true}, 10, 80, exact},
		{"few at all", ofVectors, estimate{matching: 300, total: 300}, 10, 80, exact},
		{"20 %, of which an index scan finds enough", ofVectors, estimate{matching: 4_000, total: 20_000, indexed: true}, 10, 120, indexScan},
		{"20 %, of which index scans found too few", ofVectors, estimate{matching: 4_000, total: 20_000, indexed: true, scans: dry}, 10, 120, exact},
		{"half, of which index scans found too few", ofVectors, estimate{matching: total / 2, total: total, scans: dry}, 10, 80, indexScan},
		{"5 %, fetched sooner than found by an index scan", ofVectors, estimate{matching: 1_000, total: 20_000, indexed: true}, 10, 120, exact},
		{"20 %, fetched from TOAST", ofTOAST, estimate{matching: 4_000, total: 20_000, indexed: true}, 10, 40, indexScan},
	} {
		if got := tc.e.choose(costsOf(tc.i), tc.wanted, tc.width); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestTheShareOfAScopeIsEstimated(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		seen        seen
		guess       float64
		least, most float64
	}{
		{"many seen: the guess does not count", seen{100, 200}, 0.01, 0.5, 0.5},
		{"some seen: the guess does not count", seen{10, 1000}, 0.33, 0.01, 0.01},
		{"one seen: the guess counts within bounds", seen{1, 1000}, 0.33, 0.001, 0.006},
		{"none seen: a guess of a third is wrong", seen{0, 1000}, 0.33, 0.003, 0.003},
		{"none seen: a guess below what a sample can see is believed", seen{0, 1000}, 0.0005, 0.0005, 0.0005},
		{"three seen: a guess of nearly all is wrong", seen{3, 1000}, 0.9, 0.009, 0.01},
	} {
		if got := tc.seen.share(tc.guess); got < tc.least || got > tc.most {
			t.Errorf("%s: %g, want %g to %g", tc.name, got, tc.least, tc.most)
		}
	}
}

// A plan that was made for any field name cannot use a Postgres index on one field.
func TestAPostgresIndexOnAFieldGetsACustomPlan(t *testing.T) {
	t.Parallel()
	s := search{index: ofVectors, plan: exact}
	s.request.mode = Vector
	s.estimate = estimate{matching: 200, total: 20_000, indexed: true}
	if got := s.settings(fewArguments); !slices.Contains(got, setting{"plan_cache_mode", "force_generic_plan"}) {
		t.Errorf("by containment: %v", got)
	}
	s.estimate.constants = true
	if got := s.settings(fewArguments); slices.Contains(got, setting{"plan_cache_mode", "force_generic_plan"}) {
		t.Errorf("by a field: %v", got)
	}
}

// An HNSW scan starts again only if one scan cannot visit enough candidates, and not without
// end.
func TestAnIndexScanIsBounded(t *testing.T) {
	t.Parallel()
	s := search{index: ofVectors, plan: indexScan}
	s.request.mode, s.request.topK = Vector, 10
	s.estimate = estimate{matching: 2_000, total: 20_000, indexed: true}
	if got := s.settings(fewArguments); !slices.Contains(got, setting{"hnsw.iterative_scan", "off"}) {
		t.Errorf("one scan is enough: %v", got)
	}
	s.request.topK = 1000
	if got := s.settings(fewArguments); !slices.Contains(got, setting{"hnsw.iterative_scan", "relaxed_order"}) ||
		!slices.ContainsFunc(got, func(s setting) bool { return s.name == "hnsw.max_scan_tuples" }) {
		t.Errorf("one scan is not enough: %v", got)
	}
}

func TestASampleIsOutdatedWhenMuchHasChanged(t *testing.T) {
	t.Parallel()
	drawn := contents{Chunks: 8_000, Written: 10_000}
	for _, tc := range []struct {
		now  contents
		want bool
	}{
		{drawn, false},
		{contents{Chunks: 8_900, Written: 10_900}, false},
		{contents{Chunks: 8_000, Written: 11_001}, true}, // replaced
		{contents{Chunks: 6_999, Written: 10_000}, true}, // deleted
		{contents{}, true}, // emptied
	} {
		if got := drawn.outdated(tc.now); got != tc.want {
			t.Errorf("%+v: %v", tc.now, got)
		}
	}
}
