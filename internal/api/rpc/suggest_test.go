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

// suggested returns what completes a prefix in the index docs, as "kind: text".
func suggested(t *testing.T, c servicetest.Client, prefix string, limit int32) (found []string) {
	t.Helper()
	res := need(t)(c.Suggest(t.Context(), &ragdv1.SuggestRequest{IndexName: "docs", Prefix: prefix, Limit: &limit})).(*ragdv1.SuggestResponse)
	for _, s := range res.GetSuggestions() {
		if (s.GetKind() == "title") != (s.GetUri() != "") {
			t.Errorf("%v has a uri", s)
		}
		found = append(found, s.GetKind()+": "+s.GetText())
	}
	return found
}

func TestSuggestCompletesWhatIsTyped(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	ctx := t.Context()
	for n, title := range []string{"Harbour rules", "Harbour rules", "Harbour dues of 100 % and more", "Gates"} {
		c.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: fmt.Sprint(n), Title: title, Source: servicetest.Text([]string{"The harbourmaster opens the gates.", "Gatekeepers watch.", "Dues of vessels.", "The vessel waits at the gate."}[n]),
		})
	}
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "other", Namespace: "other", Title: "Harbour of others", Source: servicetest.Text("Harbingers.")})
	answer := need(t)(c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "Harbour opens when?"})).(*ragdv1.VectorQueryResponse)
	need(t)(c.RecordFeedback(ctx, &ragdv1.RecordFeedbackRequest{QueryId: answer.GetQueryId(), Source: answer.GetSources()[0].GetId(), Helpful: new(true)}))
	useless := need(t)(c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "Harbour colours?"})).(*ragdv1.VectorQueryResponse)
	need(t)(c.RecordFeedback(ctx, &ragdv1.RecordFeedbackRequest{QueryId: useless.GetQueryId(), Source: useless.GetSources()[0].GetId(), Helpful: new(false)}))
	for _, tc := range []struct {
		prefix string
		limit  int32
		want   []string
	}{
		{"harb", 10, []string{"title: Harbour dues of 100 % and more", "title: Harbour rules", "question: Harbour opens when?", "word: harbourmaster", "word: harbour"}},
		{"harb", 2, []string{"title: Harbour dues of 100 % and more", "title: Harbour rules"}},
		{"HARBOUR R", 10, []string{"title: Harbour rules"}},
		{"harbour dues of 100 %", 10, []string{"title: Harbour dues of 100 % and more"}},
		{"the vessel and ga", 10, []string{"word: the vessel and gates"}}, // gatekeepers stand beside no vessel
		{"wait, ves", 10, []string{"word: wait, vessel"}},
		{"h", 1, []string{"title: Harbour dues of 100 % and more"}},
		{"zebra", 10, nil},
		{`har\'; %_`, 10, nil},
	} {
		got := suggested(t, c, tc.prefix, tc.limit)
		sortWords(got)
		want := slices.Clone(tc.want)
		sortWords(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s is completed by %q, want %q", tc.prefix, got, want)
		}
	}
	for want, req := range map[string]*ragdv1.SuggestRequest{
		"prefix: must not be blank":    {IndexName: "docs", Prefix: " "},
		"prefix: has 201 bytes":        {IndexName: "docs", Prefix: strings.Repeat("x", 201)},
		"limit: must be between 1 and": {IndexName: "docs", Prefix: "x", Limit: new(int32(21))},
	} {
		_, err := c.Suggest(ctx, req)
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v: %v, want %s", req, err, want)
		}
	}
	_, err := c.Suggest(ctx, &ragdv1.SuggestRequest{IndexName: "absent", Prefix: "x"})
	servicetest.WantCode(t, "an index that does not exist", err, connect.CodeNotFound)
}

// sortWords sorts the words of suggestions, whose order follows counts that are made in the background.
func sortWords(found []string) {
	first := slices.IndexFunc(found, func(s string) bool { return strings.HasPrefix(s, "word: ") })
	if first >= 0 {
		slices.Sort(found[first:])
	}
}

// What is suggested to a credential is of documents that it may read, also where a request context narrows it.
func TestSuggestKeepsWalls(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	ctx := t.Context()
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
	}
	for team, word := range map[string]string{"red": "kumbaya", "blue": "kumquat"} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: team, Title: "Kum of " + team, Source: servicetest.Text("All about " + word + "."), Metadata: servicetest.Object(t, map[string]any{"team": team}),
		})
	}
	answer := need(t)(acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "kumquat?"})).(*ragdv1.VectorQueryResponse)
	need(t)(acme.RecordFeedback(ctx, &ragdv1.RecordFeedbackRequest{QueryId: answer.GetQueryId(), Source: answer.GetSources()[0].GetId(), Helpful: new(true)}))
	filtered := func(team string) servicetest.Client {
		return s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": team})}))
	}
	reader := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}})
	for name, tc := range map[string]struct {
		client servicetest.Client
		want   []string
	}{
		"the owner":         {acme, []string{"title: Kum of blue", "title: Kum of red", "question: kumquat?", "word: kum", "word: kumbaya", "word: kumquat"}},
		"a filter":          {filtered("red"), []string{"title: Kum of red", "word: kum", "word: kumbaya"}},
		"another filter":    {filtered("blue"), []string{"title: Kum of blue", "word: kum", "word: kumquat"}},
		"a request context": {s.Client(reader, "Ragd-Context", `{"filter": {"team": "red"}}`), []string{"title: Kum of red", "word: kum", "word: kumbaya"}},
		"another tenant":    {bolt, nil},
	} {
		got := suggested(t, tc.client, "kum", 10)
		sortWords(got)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: names("faq")}))
	_, err := bound.Suggest(ctx, &ragdv1.SuggestRequest{IndexName: "docs", Prefix: "kum"})
	servicetest.WantCode(t, "a key of another index", err, connect.CodeNotFound)
}

func TestACorrectedQuestionIsReturned(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	texts(t, c, map[string]any{"team": "red"}, "The harbour gates open at noon.")
	acme := func(c servicetest.Client, question string) string {
		t.Helper()
		return need(t)(c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: question})).(*ragdv1.VectorQueryResponse).GetDidYouMean()
	}
	if got := acme(c, "Harbuor, gates?"); got != "harbour, gates?" {
		t.Errorf("corrected to %q", got)
	}
	if got := acme(c, "harbour gates"); got != "" {
		t.Errorf("what is right is corrected to %q", got)
	}
	blue := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "blue"})}))
	if got := acme(blue, "harbuor gates"); got != "" {
		t.Errorf("a hidden word is told: %q", got)
	}
}
