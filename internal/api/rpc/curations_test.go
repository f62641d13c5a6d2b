package rpc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func byURI(uris ...string) (items []*ragdv1.Curated) {
	for _, uri := range uris {
		items = append(items, &ragdv1.Curated{Uri: uri})
	}
	return items
}

// curate stores the curations of the index docs, instead of others.
func curate(t *testing.T, c servicetest.Client, entries ...*ragdv1.Curation) *ragdv1.PutCurationsResponse {
	t.Helper()
	return need(t)(c.PutCurations(t.Context(), &ragdv1.PutCurationsRequest{IndexName: "docs", Curations: entries, Replace: true})).(*ragdv1.PutCurationsResponse)
}

func TestCurationsPinAndHide(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	texts(t, c, map[string]any{"kind": "rule"},
		"Holidays are requested in the portal.",
		"Holidays of trainees are requested by letter.",
		"Holidays of guests are not requested.",
		"The canteen opens at noon.",
	)
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "form", Source: servicetest.Text("A form for leave.")})
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "elsewhere", Namespace: "other", Source: servicetest.Text("Holidays in another namespace.")})
	ask := func(change func(*ragdv1.VectorQueryRequest)) *ragdv1.VectorQueryResponse {
		t.Helper()
		req := &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "Holidays requested", Explain: true, TopK: new(int32(3))}
		if change != nil {
			change(req)
		}
		return need(t)(c.VectorQuery(t.Context(), req)).(*ragdv1.VectorQueryResponse)
	}
	plain := map[string]*ragdv1.Source{}
	for _, s := range ask(func(req *ragdv1.VectorQueryRequest) { req.TopK = new(int32(10)) }).GetSources() {
		plain[s.GetUri()] = s
	}
	stored := curate(t, c,
		&ragdv1.Curation{CurationId: "leave", Question: "holiday REQUEST", Pins: byURI("form", "3", "absent", "elsewhere"), Hides: byURI("1")},
		&ragdv1.Curation{CurationId: "all", Question: "holidays", Match: "contains", Pins: byURI("2", "1"), Hides: byURI("form2")},
		&ragdv1.Curation{CurationId: "other", Question: "holidays", Match: "contains", Namespace: "other", Hides: byURI("elsewhere")},
	)
	if stored.GetCount() != 3 {
		t.Errorf("stored %v", stored)
	}
	for _, mode := range []string{"hybrid", "keyword", "vector"} {
		res := ask(func(req *ragdv1.VectorQueryRequest) { req.SearchMode = mode })
		if found := uris(res.GetSources()); !slices.Equal(found, []string{"form", "3", "2"}) || !slices.Equal(res.GetExplain().GetCurationIds(), []string{"leave", "all"}) {
			t.Errorf("%s: found %v by %v", mode, found, res.GetExplain().GetCurationIds())
		}
		more := ask(func(req *ragdv1.VectorQueryRequest) { req.SearchMode, req.TopK = mode, new(int32(10)) })
		if found := uris(more.GetSources()); slices.Contains(found, "1") || found[3] != "0" || more.GetSources()[3].GetPinned() || !more.GetSources()[0].GetPinned() {
			t.Errorf("%s: found %v", mode, found)
		}
		for _, s := range more.GetSources() {
			if mode == "hybrid" && plain[s.GetUri()] != nil && plain[s.GetUri()].GetScore() != s.GetScore() {
				t.Errorf("%s scores %v, and %v without curations", s.GetUri(), s.GetScore(), plain[s.GetUri()].GetScore())
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(*ragdv1.VectorQueryRequest)
		want   []string
	}{
		"a filter": {func(req *ragdv1.VectorQueryRequest) {
			req.Filter = structpb.NewStructValue(servicetest.Object(t, map[string]any{"kind": "rule"}))
		}, []string{"3", "2", "0"}},
		"a condition": {func(req *ragdv1.VectorQueryRequest) {
			req.QuerySyntax, req.QueryText = "web", "holidays request -canteen -form"
		}, []string{"2", "0"}},
		"another question": {func(req *ragdv1.VectorQueryRequest) { req.QueryText, req.TopK = "holidays of guests", new(int32(2)) }, []string{"2", "1"}},
		"a question without words": {func(req *ragdv1.VectorQueryRequest) {
			req.QueryText, req.SearchMode, req.TopK = "canteen", "keyword", new(int32(1))
		}, []string{"3"}},
		"another namespace": {func(req *ragdv1.VectorQueryRequest) { req.Namespace = "other" }, nil},
		"an order": {func(req *ragdv1.VectorQueryRequest) {
			req.OrderBy, req.TopK = []*ragdv1.OrderBy{{Field: "kind"}}, new(int32(1))
		}, []string{"2"}},
	} {
		if found := uris(ask(tc.change).GetSources()); !slices.Equal(found, tc.want) {
			t.Errorf("%s: found %v, want %v", name, found, tc.want)
		}
	}
	var paged []string
	for token := ""; ; {
		page := ask(func(req *ragdv1.VectorQueryRequest) {
			req.TopK, req.PageSize, req.PageToken = nil, new(int32(2)), token
		})
		paged = append(paged, uris(page.GetSources())...)
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	if !slices.Equal(paged, []string{"form", "3", "2", "0"}) {
		t.Errorf("in pages: %v", paged)
	}
	all := need(t)(c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexNames: []string{"*"}, QueryText: "Holidays requested", TopK: new(int32(3))})).(*ragdv1.VectorQueryResponse)
	if found := uris(all.GetSources()); !slices.Equal(found, []string{"form", "3", "2"}) {
		t.Errorf("over all indexes: %v", found)
	}
	chunk, document := plain["0"].GetId(), plain["2"].GetDocumentId()
	curate(t, c, &ragdv1.Curation{Question: "canteen", Pins: []*ragdv1.Curated{{DocumentId: document}, {Id: chunk}}})
	if found := uris(ask(func(req *ragdv1.VectorQueryRequest) { req.QueryText = "Canteen?" }).GetSources()); !slices.Equal(found, []string{"2", "0", "3"}) {
		t.Errorf("by ids: %v", found)
	}
	if len(need(t)(c.DeleteCurations(t.Context(), &ragdv1.DeleteCurationsRequest{IndexName: "docs", All: true})).(*ragdv1.DeleteCurationsResponse).String()) == 0 {
		t.Error("no curation was deleted")
	}
	if used := ask(nil).GetExplain().GetCurationIds(); len(used) > 0 {
		t.Errorf("deleted curations hold: %v", used)
	}
}

func TestCurationsAreValidatedAndListed(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	ctx := t.Context()
	curate(t, c, &ragdv1.Curation{CurationId: "b", Question: "pay", Pins: byURI("x")}, &ragdv1.Curation{CurationId: "a", Question: "leave", Match: "contains", Hides: byURI("y"), Namespace: "n"})
	page := need(t)(c.ListCurations(ctx, &ragdv1.ListCurationsRequest{IndexName: "docs", PageSize: 1})).(*ragdv1.ListCurationsResponse)
	next := need(t)(c.ListCurations(ctx, &ragdv1.ListCurationsRequest{IndexName: "docs", PageSize: 1, PageToken: page.GetNextPageToken()})).(*ragdv1.ListCurationsResponse)
	first, second := page.GetCurations()[0], next.GetCurations()[0]
	if first.GetCurationId() != "a" || first.GetMatch() != "contains" || first.GetNamespace() != "n" || first.GetHides()[0].GetUri() != "y" || second.GetCurationId() != "b" ||
		second.GetMatch() != "exact" || second.GetNamespace() != "default" || next.GetNextPageToken() != "" {
		t.Errorf("listed %v and %v", page, next)
	}
	deleted := need(t)(c.DeleteCurations(ctx, &ragdv1.DeleteCurationsRequest{IndexName: "docs", CurationIds: []string{"a", "z"}})).(*ragdv1.DeleteCurationsResponse)
	if deleted.GetDeletedCount() != 1 {
		t.Errorf("deleted %v", deleted)
	}
	many := byURI(make([]string, 101)...)
	for want, entry := range map[string]*ragdv1.Curation{
		"curations[0].question: must have a word":     {Pins: byURI("x")},
		"curations[0]: must have pins or hides":       {Question: "pay"},
		`curations[0].match: unknown value "regex"`:   {Question: "pay", Match: "regex", Pins: byURI("x")},
		"curations[0].pins: has 101 entries":          {Question: "pay", Pins: many},
		"curations[0].hides: has 101 entries":         {Question: "pay", Hides: many},
		"curations[0].pins[0]: must have exactly one": {Question: "pay", Pins: []*ragdv1.Curated{{Uri: "x", Id: "y"}}},
		"curations[0].hides[0].documentId: is no id":  {Question: "pay", Hides: []*ragdv1.Curated{{DocumentId: "x"}}},
		"curations[0].curationId: must be 1 to 64":    {CurationId: "a b", Question: "pay", Pins: byURI("x")},
		"curations[0].question: has 501 bytes":        {Question: strings.Repeat("x", 501), Pins: byURI("x")},
		"curations[0].question: has 33 words":         {Question: strings.Repeat("x ", 33), Pins: byURI("x")},
		"curations[0].namespace":                      {Question: "pay", Pins: byURI("x"), Namespace: strings.Repeat("n", 1000)},
		"curations[0].pins[0]: has 3000 bytes":        {Question: "pay", Pins: byURI(strings.Repeat("x", 3000))},
	} {
		_, err := c.PutCurations(ctx, &ragdv1.PutCurationsRequest{IndexName: "docs", Curations: []*ragdv1.Curation{entry}})
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v: %v, want %s", entry, err, want)
		}
	}
}

// A pin shows nobody what the credential hides, and a curation is that of an index of a tenant.
func TestCurationsKeepWalls(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	ctx := t.Context()
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
		texts(t, c, map[string]any{"team": "red"}, "The pay is due in May.", "Pay day is a Friday.")
	}
	secret := acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "secret", Source: servicetest.Text("The pay of kumquats."), Metadata: servicetest.Object(t, map[string]any{"team": "blue"})})
	doc := need(t)(bolt.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: "1"})).(*ragdv1.Document)
	theirs := need(t)(bolt.ListChunks(ctx, &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: doc.GetDocumentId()})).(*ragdv1.ListChunksResponse).GetChunks()[0]
	pins := append(byURI("secret"), &ragdv1.Curated{DocumentId: secret.GetDocumentId()}, &ragdv1.Curated{Id: theirs.GetChunkId()}, &ragdv1.Curated{DocumentId: theirs.GetDocumentId()})
	curate(t, acme, &ragdv1.Curation{CurationId: "hidden", Question: "pay", Pins: pins}, &ragdv1.Curation{CurationId: "seen", Question: "pay", Match: "contains", Pins: byURI("1")})
	key := func(req *ragdv1.CreateApiKeyRequest) servicetest.Client {
		req.TenantId = "acme"
		return s.Client(s.Key(t, req))
	}
	red := key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})})
	for name, tc := range map[string]struct {
		client servicetest.Client
		want   []string
		used   []string
	}{
		"the owner":          {acme, []string{"secret", "1", "0"}, []string{"hidden", "seen"}},
		"a mandatory filter": {red, []string{"1", "0"}, []string{"seen"}},
		"another tenant":     {bolt, nil, nil},
	} {
		for _, mode := range []string{"hybrid", "keyword", "vector"} {
			res := need(t)(tc.client.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "Pay", SearchMode: mode, Explain: true})).(*ragdv1.VectorQueryResponse)
			if found := uris(res.GetSources()); tc.want != nil && !slices.Equal(found, tc.want) || !slices.Equal(res.GetExplain().GetCurationIds(), tc.used) {
				t.Errorf("%s finds in mode %s %v by %v", name, mode, found, res.GetExplain().GetCurationIds())
			}
		}
	}
	for name, by := range map[string]struct {
		client       servicetest.Client
		change, list connect.Code // 0: allowed
	}{
		"a reader":               {key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"read"}}), connect.CodePermissionDenied, 0},
		"a mandatory filter":     {red, connect.CodePermissionDenied, connect.CodePermissionDenied},
		"a key of another index": {key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"admin"}, Indexes: names("faq")}), connect.CodeNotFound, connect.CodeNotFound},
	} {
		_, err := by.client.PutCurations(ctx, &ragdv1.PutCurationsRequest{IndexName: "docs", Curations: []*ragdv1.Curation{{Question: "pay", Pins: byURI("0")}}})
		servicetest.WantCode(t, "PutCurations by "+name, err, by.change)
		_, err = by.client.DeleteCurations(ctx, &ragdv1.DeleteCurationsRequest{IndexName: "docs", All: true})
		servicetest.WantCode(t, "DeleteCurations by "+name, err, by.change)
		if _, err = by.client.ListCurations(ctx, &ragdv1.ListCurationsRequest{IndexName: "docs"}); by.list != 0 {
			servicetest.WantCode(t, "ListCurations by "+name, err, by.list)
		}
	}
}
