package rpc_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// watched is a stream of events that a test reads.
type watched struct {
	messages chan *ragdv1.WatchEventsResponse
	cursor   string // of the last message
	err      error  // why the stream ended; once messages is closed
	end      context.CancelFunc
}

// watchEvents watches events. It returns when the stream has begun.
func watchEvents(t *testing.T, c servicetest.Client, req *ragdv1.WatchEventsRequest) *watched {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := c.WatchEvents(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{messages: make(chan *ragdv1.WatchEventsResponse, 1000), end: cancel}
	go func() {
		defer close(w.messages)
		for stream.Receive() {
			w.messages <- stream.Msg()
		}
		w.err = stream.Err()
	}()
	t.Cleanup(func() {
		cancel()
		for range w.messages { // until it has ended
		}
	})
	first, ok := <-w.messages
	if !ok {
		t.Fatal(w.err)
	}
	if first.Event != nil {
		t.Fatalf("the first message has the event %v", first.Event)
	}
	w.cursor = first.Cursor
	return w
}

// next returns the next event.
func (w *watched) next(t *testing.T) *ragdv1.Event {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		select {
		case m, ok := <-w.messages:
			if !ok {
				t.Fatal(w.err)
			}
			w.cursor = m.Cursor
			if m.Event != nil {
				checkFields(t, m.Event)
				return m.Event
			}
		case <-patience:
			t.Fatal("no event came")
		}
	}
}

// checkFields fails the test unless the data of an event has the fields of the reference.
func checkFields(t *testing.T, e *ragdv1.Event) {
	t.Helper()
	topic, _, _ := strings.Cut(e.Type, ".")
	for name := range e.Data.GetFields() {
		if !slices.ContainsFunc(journal.Fields[topic], func(f journal.Field) bool { return f.Name == name }) {
			t.Errorf("%s has the field %s, which the reference does not list", e.Type, name)
		}
	}
	for _, f := range journal.Fields[topic] {
		if e.Data.GetFields()[f.Name] == nil && f.Name != "count" {
			t.Errorf("%s lacks the field %s, which the reference lists", e.Type, f.Name)
		}
	}
}

// types returns the types of the next n events, sorted.
func (w *watched) types(t *testing.T, n int) []string {
	t.Helper()
	var types []string
	for range n {
		types = append(types, w.next(t).Type)
	}
	slices.Sort(types)
	return types
}

func wantTypes(t *testing.T, w *watched, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := w.types(t, len(want)); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestWatchersReceiveWhatHappensInTheirTenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	other.Index(t, "docs")
	w := watchEvents(t, acme, &ragdv1.WatchEventsRequest{})
	acme.Index(t, "docs")
	wantTypes(t, w, "index.changed")
	// An equal name in another tenant.
	other.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a.md", Source: servicetest.Text("theirs")})

	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "a.md", Title: "A", Source: servicetest.Text("ours"), Metadata: servicetest.Object(t, map[string]any{"team": "x"}),
	})
	seen := map[string]*ragdv1.Event{}
	for range 3 {
		e := w.next(t)
		if e.Type == "index.changed" {
			continue
		}
		seen[e.Type] = e
	}
	ready := seen["document.ready"]
	if ready == nil || seen["job.queued"] == nil || seen["job.succeeded"] == nil {
		t.Fatalf("events: %v", seen)
	}
	data := ready.Data.AsMap()
	if data["documentId"] != d.DocumentId || data["indexName"] != "docs" || data["uri"] != "a.md" || data["title"] != "A" ||
		data["chunkCount"] != 1.0 || data["version"] != 1.0 || data["metadata"].(map[string]any)["team"] != "x" {
		t.Errorf("data: %v", data)
	}
	if ready.EventId == "" || ready.CreateTime == nil {
		t.Errorf("event: %v", ready)
	}
	_, err := acme.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "a.md"})
	if err != nil {
		t.Fatal(err)
	}
	deleted := w.next(t)
	if deleted.Type != "document.deleted" || deleted.Data.AsMap()["uri"] != "a.md" {
		t.Errorf("event: %v", deleted)
	}
	if _, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "find", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "docs"})}); err != nil {
		t.Fatal(err)
	}
	if e := w.next(t); e.Type != "tools.changed" || e.Data.AsMap()["name"] != "find" || e.Data.AsMap()["change"] != "created" {
		t.Errorf("event: %v", e)
	}
	if _, err := acme.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "docs"}); err != nil {
		t.Fatal(err)
	}
	if e := w.next(t); e.Type != "index.changed" || e.Data.AsMap()["change"] != "deleted" {
		t.Errorf("event: %v", e)
	}
}

// A watcher on one instance hears what another one does.
func TestEventsReachWatchersOnOtherInstances(t *testing.T) {
	t.Parallel()
	first := servicetest.New(t, service.Config{})
	second := servicetest.New(t, service.Config{AdminPool: first.Pool, NoWorkers: true})
	acme := first.Tenant(t, "acme")
	w := watchEvents(t, second.Client(acme.Secret), &ragdv1.WatchEventsRequest{Types: []string{"document.ready"}})
	acme.Index(t, "docs")
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Source: servicetest.Text("a")})
	wantTypes(t, w, "document.ready")
}

func TestAStreamOfEventsContinuesAfterItsCursor(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	upload := func(uri string) {
		t.Helper()
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text("text of " + uri)})
	}
	req := &ragdv1.WatchEventsRequest{Types: []string{"document.*"}}
	w := watchEvents(t, acme, req)
	// Another watcher, so that events are written while the first is away.
	watchEvents(t, acme, req)
	upload("1")
	upload("2")
	if e := w.next(t); e.Data.AsMap()["uri"] != "1" {
		t.Fatalf("event %v", e)
	}
	w.end()
	upload("3")
	again := watchEvents(t, acme, &ragdv1.WatchEventsRequest{Types: []string{"document.*"}, Cursor: w.cursor})
	for _, uri := range []string{"2", "3"} {
		if e := again.next(t); e.Data.AsMap()["uri"] != uri {
			t.Errorf("event %v, want that of %s", e, uri)
		}
	}
	stream, err := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme"})).WatchEvents(t.Context(), &ragdv1.WatchEventsRequest{Cursor: w.cursor})
	if err == nil {
		stream.Receive()
		err = stream.Err()
	}
	servicetest.WantCode(t, "the cursor of another key", err, connect.CodeInvalidArgument)
}

// Transactions commit in another order than they begin.
func TestAnEventThatCommitsLateIsNotMissed(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	w := watchEvents(t, acme, &ragdv1.WatchEventsRequest{Types: []string{"tools.changed"}})
	late, err := s.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Rollback(t.Context())
	if _, err := late.Exec(t.Context(), `SET LOCAL ROLE tenant_acme; INSERT INTO ragd_shared.events (type, data) VALUES ('tools.changed', '{"name": "late", "change": "updated"}')`); err != nil {
		t.Fatal(err)
	}
	acme.Index(t, "docs")
	if _, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "find", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "docs"})}); err != nil {
		t.Fatal(err)
	}
	if e := w.next(t); e.Data.AsMap()["name"] != "find" {
		t.Fatalf("event %v", e)
	}
	cursor := w.cursor
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := w.next(t); e.Data.AsMap()["name"] != "late" {
		t.Errorf("event %v", e)
	}
	again := watchEvents(t, acme, &ragdv1.WatchEventsRequest{Types: []string{"tools.changed"}, Cursor: cursor})
	if e := again.next(t); e.Data.AsMap()["name"] != "late" {
		t.Errorf("event after the cursor %v", e)
	}
}

func TestWatchersReceiveOnlyWhatTheirCredentialMaySee(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	acme.Index(t, "other")
	filtered := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "x"})}))
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"other"}}}))
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	types := []string{"document.*", "job.queued", "key.*"}
	all, some, one, read := watchEvents(t, acme, &ragdv1.WatchEventsRequest{Types: types}), watchEvents(t, filtered, &ragdv1.WatchEventsRequest{Types: types}),
		watchEvents(t, bound, &ragdv1.WatchEventsRequest{Types: types}), watchEvents(t, reader, &ragdv1.WatchEventsRequest{Types: types})
	upload := func(index, uri, team string) {
		t.Helper()
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: index, Uri: uri, Source: servicetest.Text("text of " + uri), Metadata: servicetest.Object(t, map[string]any{"team": team})})
	}
	upload("docs", "hidden", "y")
	upload("docs", "shown", "x")
	if _, err := acme.CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{DisplayName: "new"}); err != nil {
		t.Fatal(err)
	}
	if _, err := acme.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "hidden"}); err != nil {
		t.Fatal(err)
	}
	upload("other", "last", "x")
	wantTypes(t, all, "job.queued", "document.ready", "job.queued", "document.ready", "key.created", "document.deleted", "job.queued", "document.ready")
	wantTypes(t, read, "job.queued", "document.ready", "job.queued", "document.ready", "document.deleted", "job.queued", "document.ready")
	wantTypes(t, one, "job.queued", "document.ready")
	var uris []any
	for range 4 {
		if e := some.next(t); e.Type == "document.ready" {
			uris = append(uris, e.Data.AsMap()["uri"])
		}
	}
	if !slices.Equal(uris, []any{"shown", "last"}) {
		t.Errorf("a mandatory filter shows %v", uris)
	}
}

// Changes of what a key may not use are no events for it: other indexes, tools over them, and names
// outside of its bounds.
func TestBoundWatchersHearOfWhatTheyMayUse(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, ctx := s.Tenant(t, "acme"), t.Context()
	acme.Index(t, "docs")
	types := []string{"index.*", "tools.*", "prompts.*", "server.*", "job.*", "hook.*", "key.*"}
	bound := func(req *ragdv1.CreateApiKeyRequest) *watched {
		req.TenantId, req.Scopes = "acme", []string{"admin"}
		return watchEvents(t, s.Client(s.Key(t, req)), &ragdv1.WatchEventsRequest{Types: types})
	}
	ofIndex, ofPrompt := bound(&ragdv1.CreateApiKeyRequest{Indexes: names("docs")}), bound(&ragdv1.CreateApiKeyRequest{Prompts: names("greet"), Indexes: names()})
	change := func(index, tool, prompt string) {
		t.Helper()
		if index != "docs" {
			acme.Index(t, index)
		}
		settings := servicetest.Object(t, map[string]any{"indexName": index})
		if _, err := acme.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: tool, Kind: "vector_query", Settings: settings}); err != nil {
			t.Fatal(err)
		}
		if _, err := acme.CreatePrompt(ctx, &ragdv1.CreatePromptRequest{PromptName: prompt, Messages: []*ragdv1.PromptMessage{{Content: &ragdv1.PromptMessage_Text{Text: "hi"}}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := acme.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{IndexName: index, Uri: "a", Source: servicetest.Text("text")}); err != nil {
			t.Fatal(err)
		}
	}
	change("secret", "over_secret", "other")
	change("docs", "over_docs", "greet")
	got := func(w *watched, n int) []string {
		t.Helper()
		var all []string
		for range n {
			e := w.next(t)
			name, _ := e.Data.AsMap()["name"].(string)
			all = append(all, strings.TrimSpace(e.Type+" "+name))
		}
		return all
	}
	// An index bounds no names of prompts.
	if all := got(ofIndex, 4); !slices.Equal(all, []string{"prompts.changed other", "tools.changed over_docs", "prompts.changed greet", "job.queued"}) {
		t.Errorf("a key of an index hears of %q", all)
	}
	if all := got(ofPrompt, 1); !slices.Equal(all, []string{"prompts.changed greet"}) {
		t.Errorf("a key of a prompt hears of %q", all)
	}
	// A tool that leaves the index is a change for those who can no longer see it.
	if _, err := acme.UpdateTool(ctx, &ragdv1.UpdateToolRequest{ToolName: "over_docs", Settings: servicetest.Object(t, map[string]any{"indexName": "secret"})}); err != nil {
		t.Fatal(err)
	}
	if _, err := acme.DeleteTool(ctx, &ragdv1.DeleteToolRequest{ToolName: "over_docs"}); err != nil {
		t.Fatal(err)
	}
	if _, err := acme.DeleteTool(ctx, &ragdv1.DeleteToolRequest{ToolName: "over_secret"}); err != nil {
		t.Fatal(err)
	}
	acme.Index(t, "more")
	if _, err := acme.DeletePrompt(ctx, &ragdv1.DeletePromptRequest{PromptName: "greet"}); err != nil {
		t.Fatal(err)
	}
	if all := got(ofIndex, 2); !slices.Equal(all, []string{"tools.changed over_docs", "prompts.changed greet"}) {
		t.Errorf("a key of an index hears of %q", all)
	}
	if all := got(ofPrompt, 1); !slices.Equal(all, []string{"prompts.changed greet"}) {
		t.Errorf("a key of a prompt hears of %q", all)
	}
}

func TestKeysThatAreCreatedAndRevokedAreEvents(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	w := watchEvents(t, acme, &ragdv1.WatchEventsRequest{Types: []string{"key.*"}})
	made, err := acme.CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{DisplayName: "new", Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second is no change
		if _, err := acme.RevokeApiKey(t.Context(), &ragdv1.RevokeApiKeyRequest{ApiKeyId: made.ApiKey.ApiKeyId}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := acme.CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{DisplayName: "another"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"key.created", "key.revoked", "key.created"} {
		e := w.next(t)
		data := e.Data.AsMap()
		if e.Type != want || data["displayName"] == "" || data["apiKeyId"] == "" || len(data["scopes"].([]any)) == 0 {
			t.Errorf("event %v, want %s", e, want)
		}
	}
}

func TestUnknownTypesOfEventsAreRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	for what, req := range map[string]*ragdv1.WatchEventsRequest{
		"a type": {Types: []string{"document.read"}}, "a topic": {Types: []string{"file.*"}}, "a pattern": {Types: []string{"doc*"}},
		"a cursor": {Cursor: "abc"}, "too many names": {Indexes: slices.Repeat([]string{"a"}, 101)},
	} {
		stream, err := acme.WatchEvents(t.Context(), req)
		if err == nil {
			stream.Receive()
			err = stream.Err()
		}
		servicetest.WantCode(t, what, err, connect.CodeInvalidArgument)
	}
}

// Nobody pays for events that nobody wants.
func TestEventsAreWrittenOnlyWhileSomebodyWantsThem(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	count := func() (n int) {
		t.Helper()
		if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd_shared.events`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	acme.Index(t, "docs")
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("a")})
	watchEvents(t, other, &ragdv1.WatchEventsRequest{})
	w := watchEvents(t, acme, &ragdv1.WatchEventsRequest{Types: []string{"key.created"}})
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "b", Source: servicetest.Text("b")})
	if n := count(); n != 0 {
		t.Errorf("%d events were written", n)
	}
	w.end()
	for range w.messages { // until it has ended
	}
	wait.For(t, "the watcher to be gone", func() bool {
		var n int
		if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd_shared.event_watchers WHERE tenant_id = 'acme'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 0
	})
}

func TestARevokedKeyEndsItsStreamOfEvents(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes as long as the interval between checks")
	}
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	key, err := acme.CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{})
	if err != nil {
		t.Fatal(err)
	}
	w := watchEvents(t, s.Client(key.Secret), &ragdv1.WatchEventsRequest{})
	if _, err := acme.RevokeApiKey(t.Context(), &ragdv1.RevokeApiKeyRequest{ApiKeyId: key.ApiKey.ApiKeyId}); err != nil {
		t.Fatal(err)
	}
	for range w.messages { // until the server ends it
	}
	servicetest.WantCode(t, "the stream of a revoked key", w.err, connect.CodeUnauthenticated)
}

func TestDeletingATenantDeletesItsEvents(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	w := watchEvents(t, acme, &ragdv1.WatchEventsRequest{})
	acme.Index(t, "docs")
	wantTypes(t, w, "index.changed")
	if _, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "find", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "docs"})}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "acme"}); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"ragd_shared.events", "ragd_shared.event_watchers", "ragd.event_tenants"} {
		var n int
		if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d rows are left, %v", table, n, err)
		}
	}
}
