package alert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func preview(t *testing.T, c servicetest.Client, req *ragdv1.PreviewAlertRequest) *ragdv1.PreviewAlertResponse {
	t.Helper()
	req.IndexName = "docs"
	found, err := c.PreviewAlert(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// matching returns the uris of the passages of a preview that match, sorted, and those of the others.
func matching(p *ragdv1.PreviewAlertResponse) (match, others []string) {
	for _, one := range p.Passages {
		if one.Matches {
			match = append(match, one.Source.Uri)
		} else {
			others = append(others, one.Source.Uri)
		}
	}
	slices.Sort(match)
	return match, others
}

// The preview finds what alerts find while the same documents are ingested, with the same similarities.
func TestThePreviewMatchesAsIngestDoes(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	requests := map[string]*ragdv1.CreateAlertRequest{
		"hybrid":   {QueryText: "delayed ferries in fog", MinScore: new(0.2)},
		"keyword":  {QueryText: "the ferry and the fog", SearchMode: "keyword"}, // "the" and "and" do not count
		"vector":   {QueryText: "the ferry to Ærø is late because of fog", SearchMode: "vector", MinScore: new(0.6)},
		"filtered": {QueryText: "ferries", SearchMode: "keyword", Filter: servicetest.Object(t, map[string]any{"year": map[string]any{"$gte": 2020}})},
	}
	alerts := map[string]*ragdv1.Alert{}
	for name, req := range requests {
		alerts[name] = create(t, acme, req)
	}
	for _, doc := range []struct {
		uri, text string
		year      int
	}{
		{"fog", "Ferries are delayed: the fog over the sound is thick.", 2024},
		{"old", "The ferry to Ærø is late because of fog, again.", 1998},
		{"soup", "Boil the lentils with cumin and a bay leaf.", 2024},
		{"island", "Ærø has a ferry, a windmill and a church.", 2021},
	} {
		acme.Upload(t, text(doc.uri, doc.text, map[string]any{"year": doc.year}, t))
	}
	total := 0
	for name, req := range requests {
		ingested, err := acme.ListAlertMatches(t.Context(), &ragdv1.ListAlertMatchesRequest{AlertId: alerts[name].AlertId})
		if err != nil {
			t.Fatal(err)
		}
		var uris []string
		scores := map[string]float64{}
		for _, m := range ingested.Matches {
			uris, scores[m.Source.Uri] = append(uris, m.Source.Uri), m.Source.Score
		}
		slices.Sort(uris)
		total += len(uris)
		p := preview(t, acme, &ragdv1.PreviewAlertRequest{QueryText: req.QueryText, SearchMode: req.SearchMode, MinScore: req.MinScore, Filter: req.Filter})
		match, others := matching(p)
		want(t, name, match, uris)
		compared := int32(4)
		if req.Filter != nil {
			compared = 3
		}
		if !p.Complete || p.ComparedCount != compared || int(p.MatchCount) != len(uris) {
			t.Errorf("%s: %d of %d match, complete: %v", name, p.MatchCount, p.ComparedCount, p.Complete)
		}
		if rest := int(p.ComparedCount) - len(uris); req.SearchMode == "keyword" && len(others) > 0 || req.SearchMode != "keyword" && len(others) != rest {
			t.Errorf("%s: others %q", name, others)
		}
		for _, one := range p.Passages {
			if was, matched := scores[one.Source.Uri]; matched && was != one.Source.Score {
				t.Errorf("%s: similarity %v of %s, ingest found %v", name, one.Source.Score, one.Source.Uri, was)
			}
		}
	}
	if total < 6 {
		t.Errorf("only %d passages matched", total)
	}
}

// Without a least score the most similar passages are shown, best first, as many as are wanted.
func TestAPreviewShowsSimilarPassagesWithoutALeastScore(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	for n := range 5 {
		acme.Upload(t, text(fmt.Sprint(n), strings.Repeat("The ferry is late. ", n)+"Lentils with cumin.", nil, t))
	}
	p := preview(t, acme, &ragdv1.PreviewAlertRequest{QueryText: "the ferry is late", TopK: 3})
	if p.MatchCount != 0 || p.ComparedCount != 5 || len(p.Passages) != 3 {
		t.Fatalf("%v", p)
	}
	for n, one := range p.Passages {
		if one.Matches || n > 0 && one.Source.Score > p.Passages[n-1].Source.Score {
			t.Errorf("passage %d: %v", n, one)
		}
	}
	for field, req := range map[string]*ragdv1.PreviewAlertRequest{
		"queryText":  {},
		"topK":       {QueryText: "x", TopK: 101},
		"searchMode": {QueryText: "x", SearchMode: "fuzzy", MinScore: new(0.1)},
		"$uri":       {QueryText: "x", Filter: servicetest.Object(t, map[string]any{"$uri": "a"})},
	} {
		req.IndexName = "docs"
		_, err := acme.PreviewAlert(t.Context(), req)
		servicetest.WantCode(t, field, err, connect.CodeInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), field) {
			t.Errorf("the error about %s says %v", field, err)
		}
	}
}

// A preview has the rights of its caller: those of a filtered key, of bounds and of the tenant.
func TestAPreviewShowsWhatItsCallerMaySee(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
	}
	acme.Index(t, "other")
	red := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})}))
	elsewhere := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"other"}}}))
	acme.Upload(t, text("red", "The merger is signed.", map[string]any{"team": "red"}, t))
	acme.Upload(t, text("blue", "The merger is a secret.", map[string]any{"team": "blue"}, t))
	forged := &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "forged", ContentType: "text/markdown", Source: servicetest.Text("---\nteam: red\n---\nThe merger of a forger.")}
	acme.Upload(t, forged)

	for name, c := range map[string]struct {
		by       servicetest.Client
		match    []string
		compared int32
	}{
		"the admin":      {acme, []string{"blue", "forged", "red"}, 3},
		"a filtered key": {red, []string{"red"}, 1},
		"another tenant": {bolt, nil, 0},
	} {
		for _, req := range []*ragdv1.PreviewAlertRequest{{QueryText: "merger", SearchMode: "keyword"}, {QueryText: "merger", SearchMode: "vector", MinScore: new(-1.0)}} {
			p := preview(t, c.by, req)
			match, others := matching(p)
			want(t, name+", "+req.SearchMode, match, c.match)
			if p.ComparedCount != c.compared || len(others) > 0 {
				t.Errorf("%s, %s: compared %d, others %q", name, req.SearchMode, p.ComparedCount, others)
			}
		}
	}
	_, err := elsewhere.PreviewAlert(t.Context(), &ragdv1.PreviewAlertRequest{IndexName: "docs", QueryText: "merger", SearchMode: "keyword"})
	servicetest.WantCode(t, "an index outside the bounds", err, connect.CodeNotFound)
}

// Of more passages than it compares a preview takes those of the newest documents, and says that it is not complete.
func TestAPreviewOfManyPassagesIsBounded(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	acme.Upload(t, text("old", "The merger is signed.", nil, t))
	acme.Upload(t, text("new", "Lentils with cumin.", nil, t))
	var table string
	if err := s.Pool.QueryRow(t.Context(), `SELECT format('tenant_acme.%I', c.relname) FROM pg_catalog.pg_class AS c
		WHERE c.relnamespace = 'tenant_acme'::regnamespace AND c.relname ~ '^chunk_[0-9]' AND c.relkind = 'r' LIMIT 1`).Scan(&table); err != nil {
		t.Fatal(err)
	}
	more := func(from, to int) {
		t.Helper()
		_, err := s.Pool.Exec(t.Context(), `INSERT INTO `+table+` (document_id, ordinal, embedding, namespace, chunk_id, metadata, title, text, terms)
			SELECT c.document_id, n, c.embedding, c.namespace, c.document_id || ':' || n, c.metadata, c.title, c.text, c.terms
			FROM `+table+` AS c CROSS JOIN generate_series($1::int, $2::int) AS n WHERE c.text LIKE 'Lentils%' AND c.ordinal = 0`, from, to)
		if err != nil {
			t.Fatal(err)
		}
	}
	req := &ragdv1.PreviewAlertRequest{QueryText: "merger", SearchMode: "keyword"}
	more(1, 9_998)
	if p := preview(t, acme, req); !p.Complete || p.ComparedCount != 10_000 || p.MatchCount != 1 {
		t.Errorf("all: %d of %d match, complete: %v", p.MatchCount, p.ComparedCount, p.Complete)
	}
	more(9_999, 9_999)
	if p := preview(t, acme, req); p.Complete || p.ComparedCount != 10_000 || p.MatchCount != 0 {
		t.Errorf("the newest: %d of %d match, complete: %v", p.MatchCount, p.ComparedCount, p.Complete)
	}
}
