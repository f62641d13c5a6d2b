package query_test

import (
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// What people type selects, in every mode, and explain says how it was read.
func TestWhatPeopleTypeIsFound(t *testing.T) {
	t.Parallel()
	_, c := library(t)
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "minutes", Uri: "plan.md", Title: "Draft of a plan", Source: servicetest.Text("The gates of the harbour shall be painted again.")})
	for question, want := range map[string]string{
		`harbour gate`:                 "crew.md fees.md gate.md",
		`"harbour gate"`:               "gate.md",
		`"gate harbour"`:               "",
		`gate harbour -opens`:          "crew.md fees.md",
		`"harbour gate" -"high water"`: "",
		`crown* berth`:                 "fees.md",
		`noon OR crowns`:               "crew.md fees.md",
		`eats -noon`:                   "fees.md gate.md",
	} {
		for _, mode := range []string{"hybrid", "vector", "keyword"} {
			got, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs-gate", QueryText: question, QuerySyntax: "web", SearchMode: mode})
			if err != nil {
				t.Fatalf("%s: %v", question, err)
			}
			var uris []string
			for _, source := range got.GetSources() {
				uris = append(uris, source.GetUri())
			}
			slices.Sort(uris)
			allowed := strings.Fields(want)
			switch found := strings.Join(uris, " "); {
			case mode == "keyword": // finds those with a word
				for _, uri := range uris {
					if !slices.Contains(allowed, uri) {
						t.Errorf("%s, %s: %s", question, mode, found)
					}
				}
			case found != want:
				t.Errorf("%s, %s: %s, want %s", question, mode, found, want)
			}
		}
	}
	got, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: `painted gates title:PLAN -green`, QuerySyntax: "web", Explain: true})
	if err != nil || len(got.GetSources()) != 1 || got.GetSources()[0].GetUri() != "plan.md" {
		t.Errorf("several indexes: %v, %v", got, err)
	}
	if said := got.GetExplain().GetConditions(); !slices.Equal(said, []string{"the title has PLAN", "not: the text has green"}) {
		t.Errorf("%q", said)
	}
	for want, req := range map[string]*ragdv1.VectorQueryRequest{
		"queryText: says only what to leave out": {QueryText: "-green", QuerySyntax: "web"},
		"querySyntax: unknown value":             {QueryText: "green", QuerySyntax: "lucene"},
	} {
		if _, err := c.VectorQuery(t.Context(), req); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", req, err)
		}
	}
}

// The words that begin with what is typed are ranked by, so that keyword search finds them too.
func TestTypedBeginningsAreRanked(t *testing.T) {
	t.Parallel()
	s, c := library(t)
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"open": true})}))
	for question, want := range map[string]string{
		`crow*`:              "fees.md",
		`crow* noo*`:         "",
		`noo* OR crow*`:      "crew.md fees.md",
		`"harbour gate" op*`: "gate.md",
		`harbour -crow*`:     "gate.md",
		`crow`:               "",
	} {
		for name, client := range map[string]servicetest.Client{"all": c, "bound": bound} {
			got, err := client.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs-gate", QueryText: question, QuerySyntax: "web", SearchMode: "keyword"})
			if err != nil {
				t.Fatalf("%s: %v", question, err)
			}
			var uris []string
			for _, source := range got.GetSources() {
				uris = append(uris, source.GetUri())
				if source.GetScore() <= 0 {
					t.Errorf("%s, %s: %s has the score %v", question, name, source.GetUri(), source.GetScore())
				}
			}
			slices.Sort(uris)
			allowed := strings.Fields(want)
			if name == "bound" {
				allowed = slices.DeleteFunc(allowed, func(uri string) bool { return uri == "fees.md" })
			}
			if !slices.Equal(uris, allowed) {
				t.Errorf("%s, %s: %v, want %v", question, name, uris, allowed)
			}
		}
	}
}

// Conditions select among what a key may see, and nothing else.
func TestWhatPeopleTypeKeepsWalls(t *testing.T) {
	t.Parallel()
	s, _ := library(t)
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"docs-gate"}}, MandatoryFilter: servicetest.Object(t, map[string]any{"open": true}),
	}))
	for _, question := range []string{`crown* OR pilot* OR gate`, `berth OR title:fees OR eats`, `the -nothing`} {
		got, err := bound.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: question, QuerySyntax: "web"})
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range got.GetSources() {
			if source.GetUri() != "gate.md" && source.GetUri() != "crew.md" {
				t.Errorf("%s: %s is hidden", question, source.GetUri())
			}
		}
	}
}
