package rpc_test

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

// put stores synonyms of the index docs.
func put(t *testing.T, c servicetest.Client, entries ...*ragdv1.Synonym) *ragdv1.PutSynonymsResponse {
	t.Helper()
	return need(t)(c.PutSynonyms(t.Context(), &ragdv1.PutSynonymsRequest{IndexName: "docs", Synonyms: entries})).(*ragdv1.PutSynonymsResponse)
}

// texts makes the index docs with a document for each text, whose uri is its number.
func texts(t *testing.T, c servicetest.Client, metadata map[string]any, all ...string) {
	t.Helper()
	for n, text := range all {
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprint(n), Source: servicetest.Text(text), Metadata: servicetest.Object(t, metadata)})
	}
}

func TestSynonymsAreSearchedFor(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	texts(t, c, nil,
		"The kubernetes upgrade happens at night.",
		"A k8s upgrade takes an hour.",
		"Myocardial infarction is treated at once.",
		"The infarction of an organ is myocardial at times.",
		"A garden has roses.",
		"A heart attack is an emergency.",
	)
	ask := func(mode, question string) *ragdv1.VectorQueryResponse {
		t.Helper()
		return need(t)(c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: question, SearchMode: mode, Explain: true})).(*ragdv1.VectorQueryResponse)
	}
	if found := uris(ask("keyword", "k8s").GetSources()); !slices.Equal(found, []string{"1"}) {
		t.Fatalf("without synonyms k8s finds %v", found)
	}
	stored := put(t, c,
		&ragdv1.Synonym{Terms: []string{"k8s", "Kubernetes"}},
		&ragdv1.Synonym{SynonymId: "mi", Terms: []string{"heart attack"}, Targets: []string{"myocardial infarction"}},
		&ragdv1.Synonym{Terms: []string{"blossoms"}, Targets: []string{"rose"}, Language: "english"},
		&ragdv1.Synonym{Terms: []string{"hour"}, Targets: []string{"garden"}, Language: "french"},
	)
	if len(stored.GetSynonymIds()) != 4 || stored.GetSynonymIds()[1] != "mi" || stored.GetCount() != 4 {
		t.Errorf("stored %v", stored)
	}
	for _, tc := range []struct {
		question string
		want     []string // of keyword search, best first
		term     string
		searched string
	}{
		{"k8s", []string{"1", "0"}, "k8s", "Kubernetes"},
		{"Kubernetes", []string{"0", "1"}, "Kubernetes", "k8s"},
		{"heart attack", []string{"5", "2"}, "heart attack", "myocardial infarction"},
		{"myocardial infarction", []string{"2", "3"}, "", ""},                                       // one way
		{"attack heart", []string{"5"}, "", ""},                                                     // other words than the term
		{"blossoms", []string{"4"}, "blossoms", "rose"},                                             // no chunk has the word
		{"hour", []string{"1"}, "", ""},                                                             // in no language of the index
		{"blossom heart-attacks", []string{"5", "2", "4"}, "heart attack", "myocardial infarction"}, // as the stems are
	} {
		res := ask("keyword", tc.question)
		if found := uris(res.GetSources()); !slices.Equal(found, tc.want) {
			t.Errorf("%s finds %v, want %v", tc.question, found, tc.want)
		}
		searched := ""
		for _, use := range res.GetExplain().GetSynonyms() {
			if use.GetTerm() == tc.term {
				searched = strings.Join(use.GetSearched(), ", ")
			}
		}
		if searched != tc.searched || (tc.term == "") != (len(res.GetExplain().GetSynonyms()) == 0) {
			t.Errorf("%s: explain says %v", tc.question, res.GetExplain().GetSynonyms())
		}
		if found := uris(ask("hybrid", tc.question).GetSources()); found[0] != tc.want[0] {
			t.Errorf("a hybrid search for %s finds %v, want %s first", tc.question, found, tc.want[0])
		}
		if used := ask("vector", tc.question).GetExplain().GetSynonyms(); len(used) > 0 {
			t.Errorf("a vector search for %s has the synonyms %v", tc.question, used)
		}
	}
	typed, synonym := ask("keyword", "k8s").GetSources()[0], ask("keyword", "k8s").GetSources()[1]
	if typed.GetScore() <= synonym.GetScore() || synonym.GetScore() <= 0 {
		t.Errorf("what was typed scores %v, and its synonym %v", typed.GetScore(), synonym.GetScore())
	}
	counted := need(t)(c.CountChunks(t.Context(), &ragdv1.CountChunksRequest{IndexName: "docs", QueryText: "heart attack"})).(*ragdv1.CountChunksResponse)
	if counted.GetChunkCount() != 2 {
		t.Errorf("counted %v", counted)
	}
}

func TestSynonymsAreStoredListedAndDeleted(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	ctx := t.Context()
	list := func() (all []*ragdv1.Synonym) {
		t.Helper()
		for token := ""; ; {
			page := need(t)(c.ListSynonyms(ctx, &ragdv1.ListSynonymsRequest{IndexName: "docs", PageSize: 1, PageToken: token})).(*ragdv1.ListSynonymsResponse)
			all = append(all, page.GetSynonyms()...)
			if token = page.GetNextPageToken(); token == "" {
				return all
			}
		}
	}
	put(t, c, &ragdv1.Synonym{SynonymId: "b", Terms: []string{"car", "automobile"}}, &ragdv1.Synonym{SynonymId: "a", Terms: []string{"lorry"}, Targets: []string{"truck"}})
	again := put(t, c, &ragdv1.Synonym{SynonymId: "b", Terms: []string{"car", "auto"}, Language: "german"})
	if all := list(); again.GetCount() != 2 || len(all) != 2 || all[0].GetSynonymId() != "a" || all[0].GetTargets()[0] != "truck" || all[1].GetTerms()[1] != "auto" || all[1].GetLanguage() != "german" {
		t.Errorf("%v: listed %v", again, all)
	}
	same := []*ragdv1.Synonym{{Terms: []string{"sea", "ocean"}}}
	if first, second := put(t, c, same...), put(t, c, same...); first.GetCount() != 3 || second.GetCount() != 3 || first.GetSynonymIds()[0] != second.GetSynonymIds()[0] {
		t.Errorf("the same entry twice: %v and %v", first, second)
	}
	need(t)(c.TruncateIndex(ctx, &ragdv1.TruncateIndexRequest{IndexName: "docs"}))
	if all := list(); len(all) != 3 {
		t.Errorf("the emptied index has %v", all)
	}
	deleted := need(t)(c.DeleteSynonyms(ctx, &ragdv1.DeleteSynonymsRequest{IndexName: "docs", SynonymIds: []string{"a", "z"}})).(*ragdv1.DeleteSynonymsResponse)
	if deleted.GetDeletedCount() != 1 || len(list()) != 2 {
		t.Errorf("deleted %v, left %v", deleted, list())
	}
	need(t)(c.PutSynonyms(ctx, &ragdv1.PutSynonymsRequest{IndexName: "docs", Replace: true, Synonyms: same}))
	if all := list(); len(all) != 1 || all[0].GetTerms()[0] != "sea" {
		t.Errorf("replaced by %v", all)
	}
	need(t)(c.DeleteSynonyms(ctx, &ragdv1.DeleteSynonymsRequest{IndexName: "docs", All: true}))
	if all := list(); len(all) != 0 {
		t.Errorf("left %v", all)
	}

	many, long := make([]string, 21), strings.Repeat("x", 101)
	for n := range many {
		many[n] = fmt.Sprint("word", n)
	}
	for want, entry := range map[string]*ragdv1.Synonym{
		"synonyms[0].terms: must have at least 2":          {Terms: []string{"alone"}},
		"synonyms[0].terms: must have a term":              {Targets: []string{"alone"}},
		"synonyms[0].terms: has 21 entries":                {Terms: many},
		"synonyms[0].targets: has 21 entries":              {Terms: many[:1], Targets: many},
		"synonyms[0].terms[1]: must have a word":           {Terms: []string{"a", "--"}},
		"synonyms[0].targets[0]: has 101 bytes":            {Terms: []string{"a"}, Targets: []string{long}},
		"synonyms[0].terms[0]: has 7 words":                {Terms: []string{"one two three four five six seven", "b"}},
		"synonyms[0].synonymId: must be 1 to 64":           {SynonymId: "a b", Terms: []string{"a", "b"}},
		`synonyms[0].language: unknown language "klingon"`: {Terms: []string{"a", "b"}, Language: "klingon"},
	} {
		_, err := c.PutSynonyms(ctx, &ragdv1.PutSynonymsRequest{IndexName: "docs", Synonyms: []*ragdv1.Synonym{entry}})
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v: %v, want %s", entry, err, want)
		}
	}
	twice := &ragdv1.Synonym{SynonymId: "a", Terms: []string{"a", "b"}}
	for name, send := range map[string]func() error{
		"no entry": func() error { _, err := c.PutSynonyms(ctx, &ragdv1.PutSynonymsRequest{IndexName: "docs"}); return err },
		"an id twice": func() error {
			_, err := c.PutSynonyms(ctx, &ragdv1.PutSynonymsRequest{IndexName: "docs", Synonyms: []*ragdv1.Synonym{twice, twice}})
			return err
		},
		"nothing deleted": func() error {
			_, err := c.DeleteSynonyms(ctx, &ragdv1.DeleteSynonymsRequest{IndexName: "docs"})
			return err
		},
		"all and some ids": func() error {
			_, err := c.DeleteSynonyms(ctx, &ragdv1.DeleteSynonymsRequest{IndexName: "docs", All: true, SynonymIds: []string{"a"}})
			return err
		},
	} {
		servicetest.WantCode(t, name, send(), connect.CodeInvalidArgument)
	}
	full := make([]*ragdv1.Synonym, 1000)
	for n := range full {
		full[n] = &ragdv1.Synonym{Terms: []string{fmt.Sprint("first", n), fmt.Sprint("second", n)}}
	}
	put(t, c, full...)
	_, err := c.PutSynonyms(ctx, &ragdv1.PutSynonymsRequest{IndexName: "docs", Synonyms: same})
	servicetest.WantCode(t, "one entry more", err, connect.CodeResourceExhausted)
	for n := range full {
		full[n] = &ragdv1.Synonym{Terms: []string{fmt.Sprint(strings.Repeat("x", 90), n), fmt.Sprint(strings.Repeat("y", 90), n), fmt.Sprint(strings.Repeat("z", 90), n)}}
	}
	_, err = c.PutSynonyms(ctx, &ragdv1.PutSynonymsRequest{IndexName: "docs", Synonyms: full, Replace: true})
	servicetest.WantCode(t, "more than 256 KiB", err, connect.CodeResourceExhausted)
}

// Synonyms are those of an index of a tenant. A credential sees of them what it may see the chunks of.
func TestWhoSeesAndChangesSynonyms(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	ctx := t.Context()
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
		texts(t, c, map[string]any{"team": "red"}, "The lorry is red.")
	}
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "hidden", Source: servicetest.Text("The kumquat truck is blue."), Metadata: servicetest.Object(t, map[string]any{"team": "blue"})})
	put(t, acme, &ragdv1.Synonym{SynonymId: "s", Terms: []string{"vehicle"}, Targets: []string{"lorry", "kumquat truck", "kumquat"}})
	key := func(req *ragdv1.CreateApiKeyRequest) servicetest.Client {
		req.TenantId = "acme"
		return s.Client(s.Key(t, req))
	}
	red := key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})})
	reader := key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"read"}})
	other := key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"admin"}, Indexes: names("faq")})
	ask := func(c servicetest.Client) *ragdv1.VectorQueryResponse {
		t.Helper()
		return need(t)(c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "vehicle", SearchMode: "keyword", Explain: true})).(*ragdv1.VectorQueryResponse)
	}
	if res := ask(acme); len(res.GetSources()) != 2 || len(res.GetExplain().GetSynonyms()[0].GetSearched()) != 3 {
		t.Errorf("the owner finds %v by %v", uris(res.GetSources()), res.GetExplain().GetSynonyms())
	}
	if res := ask(red); !slices.Equal(uris(res.GetSources()), []string{"0"}) || !slices.Equal(res.GetExplain().GetSynonyms()[0].GetSearched(), []string{"lorry"}) {
		t.Errorf("a key with a filter finds %v by %v", uris(res.GetSources()), res.GetExplain().GetSynonyms())
	}
	if res := ask(bolt); len(res.GetSources()) != 0 || len(res.GetExplain().GetSynonyms()) != 0 {
		t.Errorf("another tenant finds %v by %v", uris(res.GetSources()), res.GetExplain().GetSynonyms())
	}
	if listed := need(t)(bolt.ListSynonyms(ctx, &ragdv1.ListSynonymsRequest{IndexName: "docs"})).(*ragdv1.ListSynonymsResponse); len(listed.GetSynonyms()) != 0 {
		t.Errorf("another tenant lists %v", listed)
	}
	if listed := need(t)(reader.ListSynonyms(ctx, &ragdv1.ListSynonymsRequest{IndexName: "docs"})).(*ragdv1.ListSynonymsResponse); len(listed.GetSynonyms()) != 1 {
		t.Errorf("a reader lists %v", listed)
	}
	for name, by := range map[string]struct {
		client       servicetest.Client
		change, list connect.Code // 0: allowed
	}{
		"a reader":               {reader, connect.CodePermissionDenied, 0},
		"a mandatory filter":     {red, connect.CodePermissionDenied, connect.CodePermissionDenied},
		"a key of another index": {other, connect.CodeNotFound, connect.CodeNotFound},
	} {
		_, err := by.client.PutSynonyms(ctx, &ragdv1.PutSynonymsRequest{IndexName: "docs", Synonyms: []*ragdv1.Synonym{{Terms: []string{"a", "b"}}}})
		servicetest.WantCode(t, "PutSynonyms by "+name, err, by.change)
		_, err = by.client.DeleteSynonyms(ctx, &ragdv1.DeleteSynonymsRequest{IndexName: "docs", All: true})
		servicetest.WantCode(t, "DeleteSynonyms by "+name, err, by.change)
		if _, err = by.client.ListSynonyms(ctx, &ragdv1.ListSynonymsRequest{IndexName: "docs"}); by.list != 0 {
			servicetest.WantCode(t, "ListSynonyms by "+name, err, by.list)
		}
	}
}
