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

// uploadTopics uploads ten pages about pumps and ten about films. Each names the next of
// its kind.
func uploadTopics(t *testing.T, c servicetest.Client) {
	t.Helper()
	for i := range 10 {
		c.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "main", Uri: fmt.Sprintf("pump/%d", i), Title: fmt.Sprintf("Pump PX-%d", 10+i), Metadata: servicetest.Object(t, map[string]any{"kind": "pump"}),
			Source: servicetest.Text(fmt.Sprintf("The coolant pump PX-%d has greased bearings. Its valve is that of PX-%d.", 10+i, 10+(i+1)%10)),
		})
		c.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "main", Uri: fmt.Sprintf("film/%d", i), Title: fmt.Sprintf("Reel RL-%d", 10+i), Metadata: servicetest.Object(t, map[string]any{"kind": "film"}),
			Source: servicetest.Text(fmt.Sprintf("A silent movie on reel RL-%d with an orchestra. The director also made RL-%d.", 10+i, 10+(i+1)%10)),
		})
	}
}

func topicsOf(t *testing.T) func(*ragdv1.ListTopicsResponse, error) *ragdv1.ListTopicsResponse {
	return func(list *ragdv1.ListTopicsResponse, err error) *ragdv1.ListTopicsResponse {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
}

func listTopics(t *testing.T, c servicetest.Client) *ragdv1.ListTopicsResponse {
	t.Helper()
	return c.Topics(t, "main")
}

// kindsOf returns which kinds of documents a topic has.
func kindsOf(topic *ragdv1.Topic) (kinds []string) {
	for _, d := range topic.Documents {
		kinds = append(kinds, strings.Split(d.Uri, "/")[0])
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func TestTopicsAreListed(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	uploadTopics(t, c)
	list := listTopics(t, c)
	if len(list.Topics) < 2 || list.FindTime == nil || list.Modularity <= 0 {
		t.Fatalf("topics %v", list)
	}
	chunks, share := int32(0), 0.0
	for _, topic := range list.Topics {
		if kinds := kindsOf(topic); len(kinds) != 1 {
			t.Errorf("topic %q has documents of the kinds %v", topic.Title, kinds)
		}
		if len(topic.Terms) == 0 || topic.Title == "" || len(topic.Chunks) == 0 || topic.Chunks[0].Text == "" || topic.TopicId == 0 {
			t.Errorf("topic %v", topic)
		}
		if topic.ParentId == 0 {
			chunks += topic.ChunkCount
			share += topic.Share
		}
	}
	if chunks+list.OtherChunkCount != 20 || share > 1 {
		t.Errorf("topics have %d chunks, %d are in none, of 20; share %v", chunks, list.OtherChunkCount, share)
	}
	page := topicsOf(t)(c.ListTopics(t.Context(), &ragdv1.ListTopicsRequest{PageSize: 1}))
	if len(page.Topics) != 1 || page.Topics[0].TopicId != list.Topics[0].TopicId || page.NextPageToken == "" {
		t.Errorf("a page of one is %v", page)
	}
	second := topicsOf(t)(c.ListTopics(t.Context(), &ragdv1.ListTopicsRequest{PageSize: 1, PageToken: page.NextPageToken}))
	if len(second.Topics) != 1 || second.Topics[0].TopicId != list.Topics[1].TopicId {
		t.Errorf("the second page is %v", second)
	}
}

// What a deleted document said is not shown, before topics are found again.
func TestDeletedDocumentsVanishFromTopics(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	uploadTopics(t, c)
	if !strings.Contains(listTopics(t, c).String(), "coolant") {
		t.Fatal("no topic has the term coolant")
	}
	// The job must not find the topics again.
	exec := func(sql string) {
		t.Helper()
		if _, err := s.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`UPDATE tenant_acme.indexes SET topics_job_id = '6f1f3c9e-6f6d-4b0e-9a57-2f8f7c0d9a11'`)
	_, err := c.DeleteDocuments(t.Context(), &ragdv1.DeleteDocumentsRequest{IndexName: "main", Filter: servicetest.Object(t, map[string]any{"kind": "pump"})})
	if err != nil {
		t.Fatal(err)
	}
	list := listTopics(t, c)
	if shown := strings.ToLower(list.String()); strings.Contains(shown, "coolant") || strings.Contains(shown, "px-1") || len(list.Topics) == 0 {
		t.Errorf("topics show deleted documents: %v", list)
	}
	answer := must(t)(c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "main", QueryText: "What is this about?", Scope: "global", Explain: true}))
	if shown := strings.ToLower(answer.String()); strings.Contains(shown, "coolant") || len(answer.Sources) == 0 {
		t.Errorf("a global answer shows deleted documents: %v", answer)
	}
	exec(`UPDATE tenant_acme.indexes SET topics_job_id = NULL`)
	if again := listTopics(t, c); again.JobId == "" {
		t.Error("half of the chunks were deleted, but topics are not found again")
	} else if job := finished(t, c, again.JobId); job.Status != "succeeded" {
		t.Errorf("the job ended as %v", job)
	}
	ids := map[int32]bool{}
	for _, topic := range list.Topics {
		ids[topic.TopicId] = true
	}
	for _, topic := range listTopics(t, c).Topics {
		if !ids[topic.TopicId] {
			t.Errorf("topic %q of the same chunks has another id", topic.Title)
		}
	}
}

func TestTopicsAreFoundAgainAfterUploads(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	uploadTopics(t, c)
	before := listTopics(t, c)
	for i := range 4 {
		c.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "main", Uri: fmt.Sprintf("whale/%d", i), Title: fmt.Sprintf("Whale WL-%d", 10+i),
			Source: servicetest.Text(fmt.Sprintf("The humpback whale WL-%d sings. It swims with WL-%d.", 10+i, 10+(i+1)%4)),
		})
	}
	for range 1000 {
		list := listTopics(t, c)
		if list.JobId != "" {
			finished(t, c, list.JobId)
			continue
		}
		if list.FindTime.AsTime().After(before.FindTime.AsTime()) && strings.Contains(list.String(), "whale") {
			return
		}
		t.Fatalf("topics after an upload: %v", list)
	}
}

func TestTopicsOfUnusualIndexes(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	if list := listTopics(t, c); len(list.Topics) != 0 || list.OtherChunkCount != 0 {
		t.Errorf("an empty index has topics %v", list)
	}
	global := &ragdv1.GraphRagRequest{IndexName: "main", QueryText: "What is this corpus about?", Scope: "global"}
	if answer := must(t)(c.GraphRag(t.Context(), global)); len(answer.Sources) != 0 {
		t.Errorf("an empty index answers %v", answer)
	}
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "main", Uri: "a", Source: servicetest.Text("Ledger Nine lies in the vault.")})
	for list := listTopics(t, c); list.JobId != ""; list = listTopics(t, c) {
		finished(t, c, list.JobId)
	}
	if list := listTopics(t, c); len(list.Topics) != 1 || list.Topics[0].Share != 1 || len(list.Topics[0].Terms) == 0 {
		t.Errorf("one chunk has topics %v", list)
	}
	if answer := must(t)(c.GraphRag(t.Context(), global)); len(answer.Sources) != 1 || answer.Sources[0].Topic == "" {
		t.Errorf("one chunk answers %v", answer)
	}
	_, err := c.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if list := listTopics(t, c); len(list.Topics) != 0 {
		t.Errorf("an emptied index has topics %v", list)
	}
	off := true
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "off", Graph: &ragdv1.GraphSettings{Off: off}}); err != nil {
		t.Fatal(err)
	}
	_, err = c.ListTopics(t.Context(), &ragdv1.ListTopicsRequest{IndexName: "off"})
	servicetest.WantCode(t, "an index without a graph", err, connect.CodeFailedPrecondition)
	_, err = c.ListTopics(t.Context(), &ragdv1.ListTopicsRequest{IndexName: "nothing"})
	servicetest.WantCode(t, "no index", err, connect.CodeNotFound)
}

func TestABroadQuestionIsAnsweredFromSeveralTopics(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	uploadTopics(t, c)
	listTopics(t, c)
	four := int32(4)
	answer := must(t)(c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "main", QueryText: "What is this corpus about?", Scope: "global", TopK: &four, Explain: true}))
	kinds := map[string]int{}
	for _, source := range answer.Sources {
		kinds[strings.Split(source.Uri, "/")[0]]++
		if source.Topic == "" || source.Path == "" || !strings.Contains(answer.RelevantContext, "# "+source.Topic) {
			t.Errorf("source %s has topic %q and path %q in\n%s", source.Uri, source.Topic, source.Path, answer.RelevantContext)
		}
	}
	if len(answer.Sources) != 4 || len(kinds) != 2 || len(answer.Explain.Topics) < 2 {
		t.Errorf("got %v, topics %v", kinds, answer.Explain.Topics)
	}
	answer = must(t)(c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "main", QueryText: "Which pumps have greased bearings?", Scope: "global", TopK: &four, SearchMode: "keyword"}))
	for _, source := range answer.Sources {
		if !strings.HasPrefix(source.Uri, "pump/") {
			t.Errorf("a question about pumps gets %s", source.Uri)
		}
	}
	filtered := must(t)(c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "main", QueryText: "What is this about?", Scope: "global", Filter: value(t, map[string]any{"kind": "film"})}))
	for _, source := range filtered.Sources {
		if !strings.HasPrefix(source.Uri, "film/") {
			t.Errorf("a filter for films gets %s", source.Uri)
		}
	}
	for what, req := range map[string]*ragdv1.GraphRagRequest{
		"no question": {IndexName: "main", Scope: "global", QueryVector: make([]float32, 512)}, "another scope": {IndexName: "main", QueryText: "x", Scope: "all"},
		"a walk": {IndexName: "main", QueryText: "x", Scope: "global", GraphOptions: &ragdv1.GraphOptions{Candidates: 5}},
	} {
		_, err := c.GraphRag(t.Context(), req)
		servicetest.WantCode(t, what, err, connect.CodeInvalidArgument)
	}
}

// Terms of topics come from all documents: a credential that may not see all sees none.
func TestFilteredCredentialsGetNoTopics(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	uploadTopics(t, c)
	listTopics(t, c)
	films := servicetest.Object(t, map[string]any{"kind": "film"})
	limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: films}))
	_, err := limited.ListTopics(t.Context(), &ragdv1.ListTopicsRequest{IndexName: "main"})
	servicetest.WantCode(t, "ListTopics", err, connect.CodePermissionDenied)
	_, err = limited.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "main", QueryText: "What is this about?", Scope: "global"})
	servicetest.WantCode(t, "GraphRag", err, connect.CodePermissionDenied)
}

func TestTopicsOfTenantsStayApart(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "main")
	bolt.Index(t, "main")
	uploadTopics(t, acme)
	bolt.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "main", Uri: "own", Source: servicetest.Text("Ledger Nine lies in the vault.")})
	if list := listTopics(t, acme); len(list.Topics) < 2 {
		t.Fatalf("topics %v", list)
	}
	list := listTopics(t, bolt)
	if len(list.Topics) != 1 || strings.Contains(list.String(), "pump") || list.Topics[0].Documents[0].Uri != "own" {
		t.Errorf("the other tenant has topics %v", list)
	}
	answer := must(t)(bolt.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "main", QueryText: "Which coolant pump has greased bearings?", Scope: "global", Explain: true}))
	for _, source := range answer.Sources {
		if source.Uri != "own" {
			t.Errorf("the other tenant gets %s", source.Uri)
		}
	}
	if page := topicsOf(t)(acme.ListTopics(t.Context(), &ragdv1.ListTopicsRequest{IndexName: "main", PageSize: 1})); page.NextPageToken != "" {
		_, err := bolt.ListTopics(t.Context(), &ragdv1.ListTopicsRequest{IndexName: "main", PageToken: page.NextPageToken})
		servicetest.WantCode(t, "a page token of another tenant", err, connect.CodeInvalidArgument)
	}
}
