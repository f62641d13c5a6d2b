package connector_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// api is a server of JSON, which remembers what it was asked for.
type api struct {
	URL string

	mu     sync.Mutex
	answer func(out http.ResponseWriter, req *http.Request) any
	asked  []string
}

// newAPI starts a server. answer returns what is sent as JSON; nil if it has answered itself.
func newAPI(t *testing.T, answer func(out http.ResponseWriter, req *http.Request) any) *api {
	t.Helper()
	a := &api{answer: answer}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.URL = server.URL
	return a
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, req.Method+" "+req.URL.RequestURI())
	if value := a.answer(out, req); value != nil {
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(value)
	}
}

// change runs a function while no request is answered.
func (a *api) change(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

// take returns the requests since the last call.
func (a *api) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	return asked
}

// fails answers with a status.
func fails(out http.ResponseWriter, status int) any {
	out.WriteHeader(status)
	return map[string]any{"message": "it answers " + fmt.Sprint(status)}
}

func ofManifest(text string, config map[string]string) *ragdv1.CreateConnectorRequest {
	return &ragdv1.CreateConnectorRequest{ConnectorName: "site", Source: &ragdv1.CreateConnectorRequest_Http{Http: &ragdv1.HttpSource{Manifest: text, Config: config}}}
}

// object is an object in JSON.
type object = map[string]any

// notes is an API of notes, page by page, with a cursor of their times, tombstones, and files.
const notes = `
version: 6.1.0
type: DeclarativeSource
check: {type: CheckStream, stream_names: [notes]}
definitions:
  base:
    type: HttpRequester
    url_base: "{{ config['url'] }}"
    http_method: GET
    authenticator: {type: BearerAuthenticator, api_token: "{{ config['token'] }}"}
    error_handler:
      type: DefaultErrorHandler
      response_filters:
        - {type: HttpResponseFilter, action: IGNORE, http_codes: [404]}
      backoff_strategies: [{type: ConstantBackoffStrategy, backoff_time_in_seconds: 0.01}]
  folders:
    type: DeclarativeStream
    name: folders
    primary_key: [id]
    retriever:
      type: SimpleRetriever
      requester: {$ref: "#/definitions/base", path: /folders}
      record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: [folders]}}
streams:
  - type: DeclarativeStream
    name: notes
    primary_key: [id]
    schema_loader: {type: InlineSchemaLoader, schema: {}}
    retriever:
      type: SimpleRetriever
      requester:
        $ref: "#/definitions/base"
        path: "/folders/{{ stream_partition.folder }}/notes"
      record_selector:
        type: RecordSelector
        extractor: {type: DpathExtractor, field_path: [data, "*", note]}
        record_filter: {type: RecordFilter, condition: "{{ record.kind == 'note' }}"}
      paginator:
        type: DefaultPaginator
        page_token_option: {type: RequestOption, inject_into: request_parameter, field_name: after}
        page_size_option: {type: RequestOption, inject_into: request_parameter, field_name: limit}
        pagination_strategy:
          type: CursorPagination
          page_size: 2
          cursor_value: "{{ response.get('meta', {}).get('next') }}"
          stop_condition: "{{ not response['meta']['more'] }}"
      partition_router:
        type: SubstreamPartitionRouter
        parent_stream_configs:
          - {type: ParentStreamConfig, stream: "#/definitions/folders", parent_key: id, partition_field: folder}
    incremental_sync:
      type: DatetimeBasedCursor
      cursor_field: changed
      datetime_format: "%Y-%m-%dT%H:%M:%SZ"
      start_datetime: "2020-01-01T00:00:00Z"
      lookback_window: PT1H
      start_time_option: {type: RequestOption, inject_into: request_parameter, field_name: since}
    transformations:
      - {type: AddFields, fields: [{path: [place], value: "{{ stream_slice.folder }}"}]}
    document:
      id: "{{ config.url }}/n/{{ record.id }}"
      title: "{{ record.title }}"
      text: "{{ record.text }}"
      content_type: text/markdown
      modified: "{{ record.changed }}"
      deleted: "{{ record.gone }}"
      metadata: {labels: "{{ record.labels.map(l, l.name) }}", folder: "{{ record.place }}", author: "{{ record.author.name }}"}
      attachments: {items: "{{ record.files }}", id: "{{ attachment.id }}", url: "{{ attachment.url }}", name: "{{ attachment.name }}"}
`

// note is a note of the API.
type note struct {
	id      int
	folder  string
	text    string
	changed string
	gone    bool
	file    string
}

// noteServer answers as the API of the manifest notes.
type noteServer struct {
	*api
	all     []note
	token   string
	limited int // answers 429 to so many requests
}

func newNotes(t *testing.T, all ...note) *noteServer {
	t.Helper()
	s := &noteServer{all: all, token: "right-token"}
	s.api = newAPI(t, s.serve)
	return s
}

func (s *noteServer) serve(out http.ResponseWriter, req *http.Request) any {
	if req.Header.Get("Authorization") != "Bearer "+s.token {
		return fails(out, http.StatusUnauthorized)
	}
	if s.limited > 0 {
		s.limited--
		out.Header().Set("Retry-After", "0")
		return fails(out, http.StatusTooManyRequests)
	}
	switch path := req.URL.Path; {
	case path == "/folders":
		return object{"folders": []object{{"id": "a"}, {"id": "b"}, {"id": "closed"}}}
	case path == "/folders/closed/notes":
		return fails(out, http.StatusNotFound)
	case strings.HasPrefix(path, "/files/"):
		_, _ = out.Write([]byte("The file " + path))
		return nil
	}
	folder := strings.Split(req.URL.Path, "/")[2]
	var found []object
	for _, n := range s.all {
		if n.folder != folder || n.changed < req.URL.Query().Get("since") {
			continue
		}
		record := object{"kind": "note", "id": n.id, "title": fmt.Sprint("Note ", n.id), "text": n.text, "changed": n.changed, "gone": n.gone, "labels": []object{{"name": "sea"}}, "author": nil}
		if n.file != "" {
			record["files"] = []object{{"id": "f" + n.file, "name": n.file, "url": s.URL + "/files/" + n.file}}
		}
		found = append(found, object{"note": record})
	}
	found = append(found, object{"note": object{"kind": "draft", "id": 99}})
	at := 0
	_, _ = fmt.Sscan(req.URL.Query().Get("after"), &at)
	end := min(at+2, len(found))
	return object{"data": found[at:end], "meta": object{"next": fmt.Sprint(end), "more": end < len(found)}}
}

func (s *noteServer) manifest() *ragdv1.CreateConnectorRequest {
	return ofManifest(notes, map[string]string{"url": s.URL, "token": "{{secrets.notes}}"})
}

func TestAWebAPIIsFollowed(t *testing.T) {
	t.Parallel()
	s := newNotes(t,
		note{1, "a", "Tides of the harbour.", "2026-01-01T00:00:00Z", false, ""}, note{2, "a", "Winds of the harbour.", "2026-01-02T00:00:00Z", false, "chart.txt"},
		note{3, "a", "Nets.", "2026-01-03T00:00:00Z", false, ""}, note{4, "b", "Ropes.", "2026-01-04T00:00:00Z", false, ""})
	served := newSecretService(t, "127.0.0.1")
	acme, bolt := newTenant(t, served, "acme"), newTenant(t, served, "bolt")
	host := strings.TrimPrefix(s.URL, "http://")
	setSecret(t, acme, "notes", s.token+"\n", host)
	s.limited = 1
	got := create(t, acme, s.manifest())
	if n := got.Counts; got.Status != "succeeded" || n.Added != 5 || n.Failed != 0 {
		t.Fatalf("first run: %v", got)
	}
	equal(t, "documents", documentsUnder(t, acme, s.URL), []string{"/n/1 v1", "/n/2 v1", "/n/2#attachment/fchart.txt v1", "/n/3 v1", "/n/4 v1"})
	equal(t, "documents of another tenant", documentsUnder(t, bolt, s.URL), []string{})
	list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := list.Documents[0]
	if m := d.Metadata.AsMap(); d.Title != "Note 1" || fmt.Sprint(m["labels"]) != "[sea]" || m["folder"] != "a" || m["author"] != nil || m["stream"] != "notes" || m["connector"] != "site" {
		t.Errorf("document: %v", d)
	}
	if shown := fmt.Sprint(got, list); strings.Contains(shown, s.token) {
		t.Errorf("the secret is shown: %s", shown)
	}
	if asked := s.take(); !slices.Contains(asked, "GET /folders/a/notes?after=2&limit=2&since=2020-01-01T00%3A00%3A00Z") {
		t.Errorf("asked for %v", asked)
	}

	// The next run asks for changes alone: one note was changed, one deleted with a tombstone, and one is gone without.
	s.change(func() {
		s.all[0].text, s.all[0].changed = "New tides.", "2026-02-01T00:00:00Z"
		s.all[2].gone, s.all[2].changed = true, "2026-02-02T00:00:00Z"
		s.all = s.all[:3]
	})
	if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Updated != 1 || got.Counts.Deleted != 1 || got.Counts.Skipped != 1 || got.Counts.Seen != 2 {
		t.Errorf("second run: %v", got)
	}
	if asked := s.take(); !slices.Contains(asked, "GET /folders/b/notes?limit=2&since=2026-01-03T23%3A00%3A00Z") {
		t.Errorf("asked for %v", asked)
	}
	equal(t, "documents", documentsUnder(t, acme, s.URL), []string{"/n/1 v2", "/n/2 v1", "/n/2#attachment/fchart.txt v1", "/n/4 v1"})

	// A run that lists everything finds what is gone. An unchanged file is not read again.
	if _, err := served.Pool.Exec(t.Context(), `UPDATE ragd_shared.connectors SET source_state = jsonb_set(source_state::jsonb, '{api,listedAt}', '"2020-01-01T00:00:00Z"')::json WHERE tenant_id = 'acme'`); err != nil {
		t.Fatal(err)
	}
	if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Deleted != 1 || got.Counts.Unchanged != 3 {
		t.Errorf("third run: %v", got)
	}
	if asked := s.take(); slices.ContainsFunc(asked, func(one string) bool { return strings.Contains(one, "/files/") }) {
		t.Errorf("asked for %v", asked)
	}
	equal(t, "documents", documentsUnder(t, acme, s.URL), []string{"/n/1 v2", "/n/2 v1", "/n/2#attachment/fchart.txt v1"})

	// A wrong token fails the run, which deletes nothing.
	s.change(func() { s.token = "other-token" })
	if got = resync(t, acme); got.Status != "failed" || !strings.Contains(got.Error, "stream folders") || !strings.Contains(got.Error, "answered 401") {
		t.Errorf("run without rights: %v", got)
	}
	tested := second(acme.TestConnector(t.Context(), &ragdv1.TestConnectorRequest{ConnectorName: "site"}))
	if tested == nil || !strings.Contains(tested.Error(), "401") {
		t.Errorf("test without rights: %v", tested)
	}
	s.change(func() { s.token = "right-token" })
	preview, err := acme.TestConnector(t.Context(), &ragdv1.TestConnectorRequest{ConnectorName: "site"})
	if err != nil || !preview.Complete || len(preview.Items) != 4 || preview.Items[0].Title != "Note 1" || preview.Items[0].Status != "would_store" {
		t.Errorf("test: %v, %v", preview, err)
	}
	// A secret for another host is not sent.
	setSecret(t, acme, "notes", s.token, "api.example.com")
	s.take()
	if got = resync(t, acme); got.Status != "failed" || !strings.Contains(got.Error, "may not be sent to "+host) {
		t.Errorf("run with a secret of another host: %v", got)
	}
	if asked := s.take(); len(asked) != 0 {
		t.Errorf("asked for %v", asked)
	}
}

func TestManifestsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	acme := newTenant(t, newSecretService(t, "127.0.0.1"), "acme")
	for name, c := range map[string]struct{ from, to, want string }{
		"a component":         {"type: CursorPagination", "type: CustomPaginationStrategy", "pagination_strategy has the type CustomPaginationStrategy, which is not supported"},
		"a field":             {"lookback_window: PT1H", "clamping: {}", "incremental_sync.clamping is not supported"},
		"a filter of Jinja":   {"{{ record.title }}", "{{ record.title | upper }}", "filters after |"},
		"an expression":       {"{{ record.title }}", "{{ record.title + }}", "no valid expression"},
		"a variable":          {"{{ record.title }}", "{{ now_utc() }}", "now_utc"},
		"a reference":         {"#/definitions/folders", "#/definitions/none", "#/definitions/none"},
		"a missing secret":    {"version: 6.1.0", "version: 6.1.1", `"notes"`},
		"no YAML":             {"version: 6.1.0", "version: [", "is no YAML object"},
		"a private network":   {"{{ config['url'] }}", "http://10.1.2.3", "inside the network"},
		"a cycle":             {"streams:\n  - type: DeclarativeStream", "streams:\n  - $ref: \"#/streams/0\"", "references"},
		"a type that differs": {"page_size: 2", "page_size: many", "page_size must be a whole number"},
	} {
		text := strings.Replace(notes, c.from, c.to, 1)
		if text == notes {
			t.Fatalf("%s: nothing is replaced", name)
		}
		_, err := acme.CreateConnector(t.Context(), ofManifest(text, map[string]string{"url": "http://127.0.0.1:9", "token": "{{secrets.notes}}"}))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, source := range map[string]*ragdv1.HttpSource{
		"http.manifest":   {},
		"http.recipe":     {Recipe: "nothing"},
		"http.config":     {Manifest: notes, Config: map[string]string{"x": "{{ a }}"}},
		"http.streams":    {Manifest: notes, Streams: []string{"boats"}},
		"relistHours":     {Manifest: notes, RelistHours: 10_000},
		"cannot be given": {Manifest: notes, Recipe: "github"},
	} {
		req := ofManifest("", nil)
		req.Source = &ragdv1.CreateConnectorRequest_Http{Http: source}
		if _, err := acme.CreateConnector(t.Context(), req); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// items is a manifest with one stream, to which a requester, a paginator and an authenticator are added.
const items = `
type: DeclarativeSource
streams:
  - name: items
    primary_key: id
    retriever:
      requester:
        url: "{{ config.url }}/items"
        REQUESTER
      record_selector: {extractor: {field_path: [items]}}
      PAGINATOR
    document: {id: "{{ config.url }}/{{ record.id }}", text: "The item {{ record.id }}."}
`

// Each paginator reads all pages, with the requests that it says.
func TestPages(t *testing.T) {
	t.Parallel()
	served := newSecretService(t, "127.0.0.1")
	for name, c := range map[string]struct{ paginator, requester, want string }{
		"offset": {paginator: `paginator: {type: DefaultPaginator, page_token_option: {inject_into: request_parameter, field_name: from}, page_size_option: {inject_into: request_parameter, field_name: n}, pagination_strategy: {type: OffsetIncrement, page_size: 2}}`,
			want: "GET /items?n=2, GET /items?from=2&n=2, GET /items?from=4&n=2"},
		"page": {paginator: `paginator: {type: DefaultPaginator, page_token_option: {inject_into: request_parameter, field_name: page}, pagination_strategy: {type: PageIncrement, page_size: 2, start_from_page: 1, inject_on_first_request: true}}`,
			want: "GET /items?page=1, GET /items?page=2, GET /items?page=3"},
		"body": {paginator: `paginator: {type: DefaultPaginator, page_token_option: {inject_into: body_json, field_path: [a, from]}, pagination_strategy: {type: OffsetIncrement, page_size: 2}}`,
			requester: `http_method: POST`, want: "POST /items, POST /items, POST /items"},
		"address": {paginator: `paginator: {type: DefaultPaginator, page_token_option: {type: RequestPath}, pagination_strategy: {type: CursorPagination, cursor_value: "{{ headers['link']['next']['url'] }}"}}`,
			want: "GET /items, GET /items?from=2, GET /items?from=4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, func(out http.ResponseWriter, req *http.Request) any {
				from, _ := strconv.Atoi(req.URL.Query().Get("from"))
				if page, _ := strconv.Atoi(req.URL.Query().Get("page")); page > 0 {
					from = page*2 - 2
				}
				if text := fmt.Sprint(deepAt(req, "a", "from")); req.Method == http.MethodPost {
					from, _ = strconv.Atoi(text)
				}
				if from < 4 {
					out.Header().Set("Link", fmt.Sprintf("<items?from=%d>; rel=next", from+2))
				}
				all := []object{{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}, {"id": 5}}
				return object{"items": all[from:min(from+2, 5)]}
			})
			acme := newTenant(t, served, name)
			got := create(t, acme, ofManifest(strings.NewReplacer("REQUESTER", c.requester, "PAGINATOR", c.paginator).Replace(items), map[string]string{"url": a.URL}))
			if got.Status != "succeeded" || got.Counts.Added != 5 {
				t.Errorf("run: %v", got)
			}
			if asked := strings.Join(a.take(), ", "); asked != c.want {
				t.Errorf("asked for %s", asked)
			}
		})
	}
}

// A token of OAuth is asked for once, and again when the server no longer takes it. Nobody else sees it or the secrets.
func TestATokenIsRenewed(t *testing.T) {
	t.Parallel()
	served := newSecretService(t, "127.0.0.1")
	for name, grant := range map[string]string{"client-credentials": "grant_type: client_credentials", "refresh-token": `refresh_token: "{{ config.refresh }}"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokens := 0
			a := newAPI(t, func(out http.ResponseWriter, req *http.Request) any {
				if req.URL.Path == "/token" {
					refresh := map[bool]string{true: "the-refresh-token"}[name == "refresh-token"]
					if req.FormValue("client_id") != "me" || req.FormValue("client_secret") != "client-secret" || req.FormValue("refresh_token") != refresh || req.FormValue("scope") != "read more" {
						out.WriteHeader(http.StatusBadRequest)
						return object{"error": "invalid_client"}
					}
					tokens++
					return object{"access_token": fmt.Sprint("access-", tokens), "expires_in": 3600}
				}
				if req.Header.Get("Authorization") != "Bearer access-2" {
					return fails(out, http.StatusUnauthorized)
				}
				return object{"items": []object{{"id": 1}}}
			})
			acme := newTenant(t, served, name)
			host := strings.TrimPrefix(a.URL, "http://")
			setSecret(t, acme, "client", "client-secret", host)
			setSecret(t, acme, "refresh", "the-refresh-token", host)
			auth := `authenticator: {type: OAuthAuthenticator, token_refresh_endpoint: "{{ config.url }}/token", client_id: me, client_secret: "{{ config.secret }}", scopes: [read, more], ` + grant + `}`
			req := ofManifest(strings.NewReplacer("REQUESTER", auth, "PAGINATOR", "", "The item", "The secret is {{ config.secret }} of").Replace(items), map[string]string{"url": a.URL, "secret": "{{secrets.client}}", "refresh": "{{secrets.refresh}}"})
			got := create(t, acme, req)
			if got.Status != "succeeded" || got.Counts.Added != 1 || tokens != 2 {
				t.Fatalf("run with %d tokens: %v", tokens, got)
			}
			if text := textOf(t, acme, a.URL+"/1"); text != "The secret is  of 1." {
				t.Errorf("text: %s", text)
			}
			setSecret(t, acme, "client", "wrong-secret", host)
			if got = resync(t, acme); got.Status != "failed" || !strings.Contains(got.Error, "invalid_client") || strings.Contains(got.Error, "wrong") {
				t.Errorf("run without rights: %v", got)
			}
		})
	}
}

// What a server answers fails a run, and leads it nowhere else.
func TestAHostileWebAPIFailsItsConnectorAlone(t *testing.T) {
	t.Parallel()
	served := newSecretService(t, "127.0.0.1")
	const next = `paginator: {type: DefaultPaginator, page_token_option: {type: RequestPath}, pagination_strategy: {type: CursorPagination, cursor_value: "{{ response.next }}"}}`
	for name, c := range map[string]struct {
		answer any
		status int
		want   string
	}{
		"loop":      {answer: object{"items": []object{}, "next": "/items"}, want: "the pages repeat"},
		"host":      {answer: object{"items": []object{}, "next": "http://api.example.com/items"}, want: "leads to the host api.example.com"},
		"scheme":    {answer: object{"items": []object{}, "next": "file:///etc/passwd"}, want: "is not followed"},
		"status":    {answer: object{"echo": "tok-secret"}, status: 400, want: "answered 400"},
		"unhealthy": {status: 500, want: "answered 500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, func(out http.ResponseWriter, _ *http.Request) any {
				if c.status > 0 {
					out.WriteHeader(c.status)
				}
				return c.answer
			})
			acme := newTenant(t, served, name)
			setSecret(t, acme, "token", "tok-secret")
			requester := `authenticator: {type: BearerAuthenticator, api_token: "{{ config.token }}"}
        error_handler: {max_retries: 1, backoff_strategies: [{type: ConstantBackoffStrategy, backoff_time_in_seconds: 0.01}]}`
			got := create(t, acme, ofManifest(strings.NewReplacer("REQUESTER", requester, "PAGINATOR", next).Replace(items), map[string]string{"url": a.URL, "token": "{{secrets.token}}"}))
			if got.Status != "failed" || !strings.Contains(got.Error, c.want) || strings.Contains(got.Error, "tok-secret") {
				t.Errorf("run: %v", got)
			}
		})
	}
}

// A file at another host is read without the credentials of the API, unless the manifest names the host and the secret allows it.
func TestFilesOfOtherHosts(t *testing.T) {
	t.Parallel()
	served := newSecretService(t, "127.0.0.1")
	sent := make(chan string, 10)
	files := newAPI(t, func(out http.ResponseWriter, req *http.Request) any {
		sent <- req.Header.Get("Authorization")
		_, _ = out.Write([]byte("The chart of the harbour."))
		return nil
	})
	a := newAPI(t, func(http.ResponseWriter, *http.Request) any {
		return object{"items": []object{{"id": 1, "files": []object{{"url": files.URL + "/chart.txt"}}}}}
	})
	host, other := strings.TrimPrefix(a.URL, "http://"), strings.TrimPrefix(files.URL, "http://")
	for name, c := range map[string]struct {
		named, want string
	}{
		"other": {want: ""},
		"named": {named: ", authenticate_hosts: [\"" + other + "\"]", want: "Bearer tok-1"},
	} {
		acme := newTenant(t, served, name)
		setSecret(t, acme, "token", "tok-1")
		text := strings.NewReplacer("REQUESTER", `authenticator: {type: BearerAuthenticator, api_token: "{{ config.token }}"}`, "PAGINATOR", "",
			"document: {", `document: {attachments: {items: "{{ record.files }}", url: "{{ attachment.url }}"`+c.named+`}, metadata: {a: "{{ record.none.more }}"}, `).Replace(items)
		req := ofManifest(text, map[string]string{"url": a.URL, "token": "{{secrets.token}}"})
		req.Metadata = map[string]string{"none": "item.attributes.none", "kind": "item.attributes.id"}
		got := create(t, acme, req)
		if got.Status != "succeeded" || got.Counts.Added != 2 || got.Counts.Failed != 0 {
			t.Errorf("%s: run %v", name, got)
		}
		if header := <-sent; header != c.want {
			t.Errorf("%s: the other host got %q", name, header)
		}
		equal(t, "documents", documentsUnder(t, acme, a.URL), []string{"/1 v1", "/1#attachment/chart.txt v1"})
	}
	// A secret for the API alone fails the run before it is sent.
	acme := newTenant(t, served, "bound")
	setSecret(t, acme, "token", "tok-1", host)
	text := strings.NewReplacer("REQUESTER", `authenticator: {type: BearerAuthenticator, api_token: "{{ config.token }}"}`, "PAGINATOR", "",
		"document: {", `document: {attachments: {items: "{{ record.files }}", url: "{{ attachment.url }}", authenticate_hosts: ["`+other+`"]}, `).Replace(items)
	got := create(t, acme, ofManifest(text, map[string]string{"url": a.URL, "token": "{{secrets.token}}"}))
	if got.Status != "failed" || !strings.Contains(got.Error, "may not be sent to "+other) || len(sent) != 0 {
		t.Errorf("run with a secret of the API alone: %v", got)
	}
}
