package data

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func TestFacetFlag(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]*ragdv1.Facet{
		"kind":                              {Field: "kind"},
		"published:month":                   {Field: "published", Interval: "month"},
		"price:5":                           {Field: "price", RangeCount: 5},
		`{"field": "a:b", "rangeCount": 2}`: {Field: "a:b", RangeCount: 2},
	} {
		got, err := facetOf(flag)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s: %s", flag, diff)
		}
	}
	if _, err := facetOf(`{"name": "a"}`); err == nil {
		t.Error("JSON of something else is taken")
	}
}

func TestGroupByFlag(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]*ragdv1.GroupBy{"team": {Field: "team"}, "team:2": {Field: "team", Size: new(int32(2))}, "a:b": {Field: "a:b"}, "a:b:4": {Field: "a:b", Size: new(int32(4))}} {
		if diff := cmp.Diff(want, groupByOf(flag), protocmp.Transform()); diff != "" {
			t.Errorf("%s: %s", flag, diff)
		}
	}
}
