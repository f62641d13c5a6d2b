package mcp_test

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// documentURI returns the resource of a document in the index docs.
func documentURI(id string) string { return "ragd://indexes/docs/documents/" + id }

// instance starts a second instance of the service on the same database and returns the
// address of its endpoint.
func instance(t *testing.T, s *servicetest.Service) string {
	t.Helper()
	return servicetest.New(t, service.Config{AdminPool: s.Pool, NoWorkers: true}).URL + mcphttp.Path
}

// opening is a transport that reports when a stream of notifications is open.
type opening struct{ open chan struct{} }

// RoundTrip implements http.RoundTripper.
func (o opening) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet && res.StatusCode == http.StatusOK {
		select {
		case o.open <- struct{}{}:
		default: // it is opened again
		}
	}
	return res, err
}

// watching returns the notifications of a client that subscribes to resources, once its stream is open:
// a method, and a URI if there is one.
func watching(t *testing.T, address, era, secret string, uris ...string) <-chan string {
	t.Helper()
	open := make(chan struct{}, 1)
	over, err := transport.NewStreamableHTTP(address, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + secret}),
		transport.WithHTTPBasicClient(&http.Client{Transport: opening{open}}))
	if era == "legacy" {
		transport.WithContinuousListening()(over)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(over, mcptest.Eras[era]...)
	t.Cleanup(func() { _ = c.Close() })
	notified := make(chan string, 100)
	c.OnNotification(func(n mcpgo.JSONRPCNotification) {
		if n.Method == "notifications/subscriptions/acknowledged" {
			select {
			case open <- struct{}{}:
			default: // it is opened again
			}
			return
		}
		uri, _ := n.Params.AdditionalFields["uri"].(string)
		notified <- n.Method + " " + uri
	})
	mcptest.Initialize(t, c)
	if era == "modern" {
		_, err := c.ListenAsync(t.Context(), mcpgo.SubscriptionFilter{
			ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: uris,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	} else {
		for _, uri := range uris {
			var req mcpgo.SubscribeRequest
			req.Params.URI = uri
			if err := c.Subscribe(t.Context(), req); err != nil && !errors.Is(err, mcpgo.ErrResourceNotFound) {
				t.Fatal(err) // who may not read a resource is told that there is none
			}
		}
	}
	select {
	case <-open:
	case <-time.After(time.Minute):
		t.Fatal("the stream is not opened")
	}
	return notified
}

// collect returns notifications until all of want have arrived.
func collect(t *testing.T, notified <-chan string, want ...string) (all []string) {
	t.Helper()
	limit := time.After(time.Minute)
	for len(want) > 0 {
		select {
		case one := <-notified:
			all = append(all, one)
			want = slices.DeleteFunc(want, func(w string) bool { return w == one })
		case <-limit:
			t.Fatalf("not told of %v, only of %v", want, all)
		}
	}
	return all
}

// pass returns what a client of a tenant is told until it was told of everything that has happened so
// far, without the prompts that are made to find that out: notifications come in the order of changes,
// those of a moment together.
func pass(t *testing.T, c servicetest.Client, notified <-chan string) (told []string) {
	t.Helper()
	const prompts = "notifications/prompts/list_changed "
	for range 2 { // the first may be told of with others, in any order
		name := "pass_" + strconv.FormatInt(time.Now().UnixNano(), 36)
		_, err := c.CreatePrompt(t.Context(), &ragdv1.CreatePromptRequest{PromptName: name, Messages: []*ragdv1.PromptMessage{{Role: "user", Content: &ragdv1.PromptMessage_Text{Text: "hi"}}}})
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, collect(t, notified, prompts)...)
	}
	return slices.DeleteFunc(told, func(one string) bool { return one == prompts })
}

// Changes on any instance are reported on every instance to the tenant's own clients
// only, and changes of a document only to those who may read it.
func TestClientsAreNotifiedOfChanges(t *testing.T) {
	t.Parallel()
	const (
		updated   = "notifications/resources/updated "
		resources = "notifications/resources/list_changed "
		tools     = "notifications/tools/list_changed "
	)
	for era := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s := servicetest.New(t, service.Config{})
			acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
			acme.Index(t, "docs")
			globex.Index(t, "docs")
			upload := func(text string) *ragdv1.Document {
				t.Helper()
				return acme.Upload(t, &ragdv1.UploadDocumentRequest{
					IndexName: "docs", Uri: "a.md", Source: &ragdv1.UploadDocumentRequest_Text{Text: text},
					Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"audience": structpb.NewStringValue("staff")}},
				})
			}
			uri := documentURI(upload("one").GetDocumentId())
			restricted := s.Key(t, &ragdv1.CreateApiKeyRequest{
				TenantId: "acme", Scopes: []string{"read"},
				MandatoryFilter: &structpb.Struct{Fields: map[string]*structpb.Value{"audience": structpb.NewStringValue("public")}},
			})
			here, there := s.URL+mcphttp.Path, instance(t, s)
			mine := []<-chan string{watching(t, here, era, acme.Secret, uri, "ragd://indexes"), watching(t, there, era, acme.Secret, uri+"/chunks/0")}
			stranger := watching(t, here, era, globex.Secret, uri, "ragd://indexes", "ragd://indexes/docs")
			guest := watching(t, there, era, restricted, uri)
			for _, notified := range append(mine, guest) {
				pass(t, acme, notified)
			}
			pass(t, globex, stranger)

			upload("two")
			collect(t, mine[0], updated+uri, updated+"ragd://indexes", resources)
			collect(t, mine[1], updated+uri+"/chunks/0", resources)
			acme.Index(t, "more")
			for _, notified := range mine {
				collect(t, notified, tools, resources)
			}
			if slices.Contains(pass(t, acme, guest), updated+uri) {
				t.Error("the restricted key is told of a document it may not read")
			}
			for _, one := range pass(t, globex, stranger) {
				t.Errorf("another tenant is told: %s", one)
			}
			globex.Index(t, "more")
			collect(t, stranger, updated+"ragd://indexes", tools)
		})
	}
}

// A client hears of a change only if its credential may use what has changed: neither lists nor
// subscribed resources tell it of other indexes, tools and prompts.
func TestBoundClientsAreNotifiedOfWhatTheyMayUse(t *testing.T) {
	t.Parallel()
	const tools, prompts, resources = "notifications/tools/list_changed ", "notifications/prompts/list_changed ", "notifications/resources/list_changed "
	for era := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s := servicetest.New(t, service.Config{})
			acme, ctx := s.Tenant(t, "acme"), t.Context()
			acme.Index(t, "docs")
			key := func(req *ragdv1.CreateApiKeyRequest) string {
				req.TenantId, req.Scopes = "acme", []string{"read"}
				return s.Key(t, req)
			}
			here := s.URL + mcphttp.Path
			ofIndex := watching(t, here, era, key(&ragdv1.CreateApiKeyRequest{Indexes: allowed("docs")}), "ragd://indexes", "ragd://indexes/docs")
			ofTool := watching(t, here, era, key(&ragdv1.CreateApiKeyRequest{Tools: allowed("mine"), Indexes: allowed("docs")}))
			ofPrompt := watching(t, here, era, key(&ragdv1.CreateApiKeyRequest{Prompts: allowed("greet"), Indexes: allowed("docs"), Tools: allowed("mine")}))
			everything := watching(t, here, era, acme.Secret)
			for _, c := range []<-chan string{ofIndex, ofTool, everything} {
				pass(t, acme, c)
			}
			for len(ofPrompt) > 0 { // it has been told with the others
				<-ofPrompt
			}

			acme.Index(t, "secret")
			acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "secret", Uri: "a", Source: servicetest.Text("text")})
			makeTool := func(name, index string) {
				t.Helper()
				_, err := acme.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: name, Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": index})})
				if err != nil {
					t.Fatal(err)
				}
			}
			makeTool("over_secret", "secret")
			makePrompt := func(name string) {
				t.Helper()
				_, err := acme.CreatePrompt(ctx, &ragdv1.CreatePromptRequest{PromptName: name, Messages: []*ragdv1.PromptMessage{{Role: "user", Content: &ragdv1.PromptMessage_Text{Text: "hi"}}}})
				if err != nil {
					t.Fatal(err)
				}
			}
			makePrompt("other")
			collect(t, everything, tools, resources, prompts)
			for _, one := range pass(t, acme, ofIndex) {
				t.Errorf("a key of an index is told: %s", one)
			}
			for _, one := range pass(t, acme, ofTool) {
				t.Errorf("a key of a tool is told: %s", one)
			}
			for len(ofPrompt) > 0 {
				t.Errorf("a key of a prompt is told: %s", <-ofPrompt)
			}

			makeTool("mine", "docs")
			makePrompt("greet")
			acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("text")})
			collect(t, ofIndex, tools, resources, prompts, "notifications/resources/updated ragd://indexes", "notifications/resources/updated ragd://indexes/docs")
			collect(t, ofTool, tools, prompts)
			collect(t, ofPrompt, tools, prompts)
			if slices.Contains(pass(t, acme, ofTool), resources) {
				t.Error("a key of a tool, which reads no resources, is told of them")
			}
			// A tool that moves away from the index disappears for the key.
			if _, err := acme.UpdateTool(ctx, &ragdv1.UpdateToolRequest{ToolName: "mine", Settings: servicetest.Object(t, map[string]any{"indexName": "secret"})}); err != nil {
				t.Fatal(err)
			}
			collect(t, ofTool, tools)
		})
	}
}

// What is read below a document changes with it: ranges of its text, its original and its metadata.
func TestSubscribersOfTextsAndOriginalsAreNotified(t *testing.T) {
	t.Parallel()
	for era := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s := servicetest.New(t, service.Config{})
			acme := s.Tenant(t, "acme")
			acme.Index(t, "docs")
			upload := func(uri, text string) string {
				t.Helper()
				return acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text(text)}).GetDocumentId()
			}
			uri, other := documentURI(upload("a.md", "one")), documentURI(upload("b.md", "one"))
			const updated = "notifications/resources/updated "
			notified := watching(t, s.URL+mcphttp.Path, era, acme.Secret, uri+"/text", uri+"/text?start=1", uri+"/original", uri+"/metadata", other+"/text")
			pass(t, acme, notified)
			upload("a.md", "two")
			for _, one := range collect(t, notified, updated+uri+"/text", updated+uri+"/text?start=1", updated+uri+"/original", updated+uri+"/metadata") {
				if one == updated+other+"/text" {
					t.Errorf("told of another document: %s", one)
				}
			}
			if _, err := acme.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "b.md"}); err != nil {
				t.Fatal(err)
			}
			collect(t, notified, updated+other+"/text")
		})
	}
}
