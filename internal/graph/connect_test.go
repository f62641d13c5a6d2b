package graph_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// testGraph is an index of one tenant and the handle on its tables.
type testGraph struct {
	service *servicetest.Service
	client  servicetest.Client
	index   index.Index
	handle  *data.Handle
}

func newTestGraph(t testing.TB) *testGraph {
	t.Helper()
	s := servicetest.New(t, service.Config{})
	g := &testGraph{service: s, client: s.Tenant(t, "acme")}
	g.client.Index(t, "main")
	found, err := s.Handlers.Indexes.Resolve(t.Context(), "acme", "main")
	if err != nil {
		t.Fatal(err)
	}
	g.index, g.handle = found, s.DB.Handle("acme").OfIndex(found.ID, found.Generation)
	return g
}

// edges returns the names in the edge table and the mentions of these names, as
// text.
func (g *testGraph) edges(t *testing.T) []string {
	t.Helper()
	rows, err := data.Select[struct{ Edge string }](t.Context(), g.handle, `
		SELECT concat_ws(' ', d.uri, e.ordinal, e.type, e.key, e.kind, e.name, o.uri, e.to_ordinal, round(e.cosine::numeric, 4)) AS edge
		FROM tenant.edge AS e
		JOIN tenant.documents AS d USING (document_id)
		LEFT JOIN tenant.documents AS o ON o.document_id = e.to_document_id
		WHERE e.type = 'name' OR e.type = 'mention' AND EXISTS (SELECT FROM tenant.edge AS n WHERE n.key = e.key AND n.type = 'name')`)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = row.Edge
	}
	slices.Sort(out)
	return out
}

func (g *testGraph) upload(t *testing.T, uri, title, body string) {
	t.Helper()
	d := g.client.Upload(t, &ragdv1.UploadDocumentRequest{Uri: uri, Title: title, Source: &ragdv1.UploadDocumentRequest_Text{Text: body}})
	if d.Status != "ready" {
		t.Fatalf("%s is %s: %s", uri, d.Status, d.Error)
	}
}

// randomText names some of the titles in ways that people do.
func randomText(random *rand.Rand, titles []string) string {
	var b strings.Builder
	for range 1 + random.IntN(5) {
		title := titles[random.IntN(len(titles))]
		switch random.IntN(4) {
		case 0:
			title = strings.ToUpper(title)
		case 1:
			title = "(" + title + ")"
		case 2:
			title += "'s"
		}
		fmt.Fprintf(&b, "It is said that %s matters. ", title)
	}
	return b.String()
}

func TestWhatIngestMaintainsIsWhatARebuildMakes(t *testing.T) {
	t.Parallel()
	g := newTestGraph(t)
	random := rand.New(rand.NewPCG(8, 8))
	titles := []string{"Watch bell", "LD-101", "drive.toml", "Clio Barnard", "Zürich See", "Form R-7: Change of limits", "Otley", "Rope memory"}
	uris := []string{"terms/bell.md", "faults/ld-101.md", "files/drive.toml.md", "people/clio", "places/see.txt", "forms/r-7.md", "otley", "terms/memory.md"}
	for range 3 {
		var wg sync.WaitGroup
		for i := range titles {
			switch body := randomText(random, append(slices.Clone(titles), "faults/ld-101.md", "forms/r-7.md")); random.IntN(5) {
			case 0:
				_, _ = g.client.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "main", Uri: uris[i]})
			default:
				wg.Go(func() { g.upload(t, uris[i], titles[i], body) })
			}
		}
		wg.Wait()
	}
	maintained := g.edges(t)
	if len(maintained) < 20 {
		t.Fatalf("only %d edges", len(maintained))
	}
	if err := graph.Rebuild(t.Context(), g.handle, g.index, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(g.edges(t), maintained); diff != "" {
		t.Errorf("maintained edges differ from rebuilt ones (-rebuilt +maintained):\n%s", diff)
	}
	counts, err := graph.CountsOf(t.Context(), g.handle, g.index.ID)
	if err != nil {
		t.Fatal(err)
	}
	real, err := data.Get[struct{ Names, Mentions, Similarities int64 }](t.Context(), g.handle, `
		SELECT count(*) FILTER (WHERE type = 'name') AS names, count(*) FILTER (WHERE type = 'mention') AS mentions,
			count(*) FILTER (WHERE type = 'similar') AS similarities FROM tenant.edge`)
	if err != nil {
		t.Fatal(err)
	}
	if counts.Names != real.Names || counts.Mentions != real.Mentions || counts.Similarities != real.Similarities {
		t.Errorf("counted %+v, there are %+v", counts, real)
	}
}

// A text stores no more than some references to names that do not exist yet.
func TestALongListMentionsNamesThatComeLater(t *testing.T) {
	t.Parallel()
	g := newTestGraph(t)
	var list strings.Builder
	for i := range 60 {
		fmt.Fprintf(&list, "LD-%d, ", 100+i)
	}
	g.upload(t, "list", "", list.String())
	stored, err := data.Value[int64](t.Context(), g.handle, `SELECT count(*) FROM tenant.edge WHERE type = 'mention'`)
	if err != nil || stored == 0 || stored > 20 {
		t.Errorf("%d references are stored, error %v", stored, err)
	}
	g.upload(t, "fault", "LD-150", "A fault of the lamp.")
	mentions := slices.DeleteFunc(g.edges(t), func(edge string) bool { return !strings.HasPrefix(edge, "list 0 mention") })
	if len(mentions) != 1 {
		t.Errorf("mentions are %q", g.edges(t))
	}
}

func TestADeletedIndexTakesItsEdgesAlong(t *testing.T) {
	t.Parallel()
	g := newTestGraph(t)
	g.upload(t, "a", "Watch bell", "Rings. See watch bell.")
	if _, err := g.client.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "main"}); err != nil {
		t.Fatal(err)
	}
	left, err := data.Value[int64](t.Context(), g.handle, `
		SELECT count(*) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = 'tenant_acme' AND c.relname LIKE 'edge\_%'`)
	if err != nil || left != 0 {
		t.Errorf("%d relations are left, error %v", left, err)
	}
}

func TestDocumentsThatChangeTogetherStayLinked(t *testing.T) {
	t.Parallel()
	g := newTestGraph(t)
	const text = "A long rope is spliced by hand at the "
	g.upload(t, "a", "Ropes", text+"quay.")
	g.upload(t, "b", "Rope", text+"pier.")
	// As many documents wait as a sync of a whole folder sends, all known before.
	if _, err := g.service.Pool.Exec(t.Context(), `UPDATE tenant_acme.index_counts SET pending = pending + 5000 WHERE index_id = $1`, g.index.ID); err != nil {
		t.Fatal(err)
	}
	g.upload(t, "b", "Rope", text+"old pier.")
	counts, err := graph.CountsOf(t.Context(), g.handle, g.index.ID)
	if err != nil || counts.Similarities != 1 {
		t.Errorf("got %+v, error %v, want one pair", counts, err)
	}
}
