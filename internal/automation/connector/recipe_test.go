package connector_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// ofRecipe is a connector of a recipe, whose address and token are those of an API.
func ofRecipe(name string, config map[string]string) *ragdv1.CreateConnectorRequest {
	return &ragdv1.CreateConnectorRequest{ConnectorName: "site", Source: &ragdv1.CreateConnectorRequest_Http{Http: &ragdv1.HttpSource{Recipe: name, Config: config}}}
}

// relist makes the next run of the connector list everything.
func relist(t *testing.T, s *servicetest.Service) {
	t.Helper()
	if _, err := s.Pool.Exec(t.Context(), `UPDATE ragd_shared.connectors SET source_state = '{}'`); err != nil {
		t.Fatal(err)
	}
}

// metadataOf returns the metadata of a document, with lists as texts such as [a b].
func metadataOf(t *testing.T, c servicetest.Client, uri string) map[string]any {
	t.Helper()
	d, err := c.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: uri})
	if err != nil {
		t.Fatal(err)
	}
	return d.Metadata.AsMap()
}

// aclOf returns the users and groups of a document.
func aclOf(t *testing.T, c servicetest.Client, uri string) string {
	t.Helper()
	acl, _ := metadataOf(t, c, uri)["acl"].(map[string]any)
	return fmt.Sprint(acl["users"], acl["groups"])
}

// github answers as https://docs.github.com/en/rest describes issues, comments, releases, collaborators and limits.
type github struct {
	*api
	issues  map[int]object
	private bool
	users   []string
	limited int
	moved   bool // the repository was renamed
}

func newGitHub(t *testing.T) *github {
	t.Helper()
	g := &github{issues: map[int]object{}, users: []string{"ann", "bob"}, private: true}
	g.api = newAPI(t, g.serve)
	for i := range 83 {
		g.put(i+1, "Issue about the harbour.", "2026-01-01T00:00:00Z")
	}
	g.issues[2]["pull_request"] = object{"url": g.URL + "/repos/example/harbour/pulls/2"}
	g.issues[3]["comments"] = 1
	g.put(83, "The newest issue.", "2026-01-02T00:00:00Z")
	return g
}

func (g *github) put(number int, body, updated string) {
	g.issues[number] = object{
		"id": 1000 + number, "number": number, "title": fmt.Sprint("Title ", number), "body": body, "state": "open", "updated_at": updated,
		"html_url": fmt.Sprint("https://github.example.com/example/harbour/issues/", number), "comments": 0, "user": object{"login": "ann"}, "labels": []object{{"name": "bug"}},
	}
}

func (g *github) serve(out http.ResponseWriter, req *http.Request) any {
	reset := func() { out.Header().Set("X-RateLimit-Reset", "1") }
	if req.Header.Get("Authorization") != "Bearer ghp_token" {
		return fails(out, http.StatusNotFound) // as private repositories do
	}
	if g.limited > 0 {
		g.limited--
		out.Header().Set("X-RateLimit-Remaining", "0")
		reset()
		out.WriteHeader(http.StatusForbidden)
		return object{"message": "API rate limit exceeded for user ID 1."}
	}
	path, ok := strings.CutPrefix(req.URL.Path, "/repos/example/harbour")
	if g.moved {
		if ok {
			http.Redirect(out, req, "/repositories/7"+path+"?"+req.URL.RawQuery, http.StatusMovedPermanently)
			return nil
		}
		path = strings.TrimPrefix(req.URL.Path, "/repositories/7")
	}
	switch {
	case path == "" || path == "/":
		return object{"id": 7, "full_name": "example/harbour", "private": g.private}
	case path == "/collaborators":
		var all []object
		for _, name := range g.users {
			all = append(all, object{"login": name})
		}
		return all
	case path == "/releases":
		return []object{{"id": 1, "tag_name": "v1", "name": "First", "body": "It has tides.", "html_url": "https://github.example.com/example/harbour/releases/tag/v1", "draft": false, "author": object{"login": "ann"}},
			{"id": 2, "tag_name": "v2", "name": "Second", "body": "Not yet.", "html_url": "https://github.example.com/example/harbour/releases/tag/v2", "draft": true}}
	case strings.HasSuffix(path, "/comments"):
		return []object{{"id": 1, "user": object{"login": "bob"}, "body": "Remember the kumquat."}}
	case path != "/issues" || req.URL.Query().Get("state") != "all":
		return fails(out, http.StatusNotFound)
	}
	var all []object
	for _, number := range slices.Sorted(maps.Keys(g.issues)) {
		if one := g.issues[number]; one["updated_at"].(string) >= req.URL.Query().Get("since") {
			all = append(all, one)
		}
	}
	page, _ := strconv.Atoi(req.URL.Query().Get("page"))
	page = max(page, 1)
	size, _ := strconv.Atoi(req.URL.Query().Get("per_page"))
	size = min(size, 40)
	end := min(page*size, len(all))
	if end < len(all) {
		next := *req.URL
		q := next.Query()
		q.Set("page", strconv.Itoa(page+1))
		next.RawQuery = q.Encode()
		out.Header().Set("Link", fmt.Sprintf(`<%s%s>; rel="next", <%s/last>; rel="last"`, g.URL, next.RequestURI(), g.URL))
	}
	return all[(page-1)*size : end]
}

func TestTheRecipeOfGitHub(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	s := newSecretService(t, "127.0.0.1")
	acme := newTenant(t, s, "acme")
	setSecret(t, acme, "github", "ghp_token", strings.TrimPrefix(g.URL, "http://"))
	g.limited = 1
	got := create(t, acme, ofRecipe("github", map[string]string{"repo": "example/harbour", "url": g.URL, "token": "{{secrets.github}}"}))
	if n := got.Counts; got.Status != "succeeded" || n.Added != 84 || n.Skipped != 1 {
		t.Fatalf("first run: %v", got)
	}
	const site = "https://github.example.com/example/harbour"
	if m := metadataOf(t, acme, site+"/pull/2"); m["stream"] != "pull_requests" || fmt.Sprint(m["labels"]) != "[bug]" || m["author"] != "ann" {
		t.Errorf("pull request: %v", m)
	}
	if acl := aclOf(t, acme, site+"/issues/3"); acl != "[ann bob] [github:example/harbour]" {
		t.Errorf("acl: %s", acl)
	}
	if text := textOf(t, acme, site+"/issues/3"); !strings.Contains(text, "bob: Remember the kumquat.") {
		t.Errorf("text: %s", text)
	}

	bob := reader(t, s, "acme", "bob")
	if n := len(documentsUnder(t, bob, site)); n != 84 {
		t.Errorf("bob sees %d documents", n)
	}
	if n := len(documentsUnder(t, reader(t, s, "acme", "eve"), site)); n != 0 {
		t.Errorf("eve sees %d documents", n)
	}

	// One issue changes: the run asks for changes alone.
	g.change(func() { g.put(4, "New tides.", "2026-02-01T00:00:00Z") })
	if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Updated != 1 || got.Counts.Seen > 10 {
		t.Errorf("run after a change: %v", got)
	}

	// Bob loses the repository: the next run takes all documents away from him.
	g.change(func() { g.users = g.users[:1] })
	if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Updated != 84 {
		t.Errorf("second run: %v", got)
	}
	if acl := aclOf(t, acme, site+"/issues/3"); acl != "[ann] [github:example/harbour]" {
		t.Errorf("acl after bob has left: %s", acl)
	}
	if n := len(documentsUnder(t, bob, site)); n != 0 {
		t.Errorf("bob still sees %d documents", n)
	}

	// A renamed repository keeps its documents; a deleted issue loses its document; a public repository is everybody's.
	g.change(func() { g.moved, g.private = true, false; delete(g.issues, 5) })
	relist(t, s)
	if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Deleted != 1 || got.Counts.Added != 0 {
		t.Errorf("third run: %v", got)
	}
	if acl := aclOf(t, acme, site+"/issues/3"); acl != "[ann] [everyone]" {
		t.Errorf("acl of a public repository: %s", acl)
	}
	if n := len(documentsUnder(t, bob, site)); n != 83 {
		t.Errorf("bob sees %d documents of a public repository", n)
	}
}

// aclFilter is the mandatory filter that the documentation gives, with the attributes of a key in place of claims.
const aclFilter = `{"$or": [{"acl.users": {"$in": [{"$context": "key.user"}]}}, {"acl.groups": {"$in": ["everyone", {"$context": "key.groups"}]}}]}`

// reader returns a client of a user of a tenant, who sees what the sources let them see.
func reader(t *testing.T, s *servicetest.Service, tenant, user string, groups ...any) servicetest.Client {
	t.Helper()
	var filter map[string]any
	if err := json.Unmarshal([]byte(aclFilter), &filter); err != nil {
		t.Fatal(err)
	}
	return s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: tenant, Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, filter), Attributes: servicetest.Object(t, map[string]any{"user": user, "groups": groups}),
	}))
}

// textOf returns the text of a document, once it is read.
func textOf(t *testing.T, c servicetest.Client, uri string) string {
	t.Helper()
	var text string
	wait.For(t, "the text of "+uri, func() bool {
		got, err := c.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{IndexName: "docs", Uri: uri})
		text = got.GetText()
		return err == nil
	})
	return text
}

// recipeServer answers as the API of a recipe does.
type recipeServer struct {
	*api
	state   map[string]any // what changes between runs
	limited bool           // the next request is refused as one too many
}

// recipeCase is a run of a recipe, then one after a change.
type recipeCase struct {
	config map[string]string // without url; URL stands for that of the server
	auth   string            // the header Authorization, or another one as NAME=VALUE
	serve  func(s *recipeServer, out http.ResponseWriter, req *http.Request) any
	first  map[string]string // acl of the documents by the ends of their uris
	text   map[string]string // what their texts have
	change func(s *recipeServer)
	then   map[string]string
}

// deepAt returns the value at a path of a JSON body.
func deepAt(req *http.Request, path ...string) any {
	var at any
	_ = json.NewDecoder(req.Body).Decode(&at)
	for _, step := range path {
		in, _ := at.(map[string]any)
		at = in[step]
	}
	return at
}

var recipeCases = map[string]recipeCase{
	"gitlab": {
		config: map[string]string{"project": "example/harbour", "url": "URL"}, auth: "Bearer tok-1",
		serve: func(s *recipeServer, out http.ResponseWriter, req *http.Request) any {
			path, ok := strings.CutPrefix(req.URL.EscapedPath(), "/api/v4/projects/example%2Fharbour")
			switch {
			case !ok:
				return fails(out, http.StatusNotFound)
			case path == "":
				return object{"id": 1, "visibility": "private"}
			case path == "/members/all":
				return []object{{"username": "ann", "state": "active"}, {"username": "zed", "state": "blocked"}, {"username": s.state["member"], "state": "active"}}
			case path == "/wikis":
				return []object{{"slug": "home", "title": "Home", "content": "Welcome ashore."}}
			case path == "/merge_requests":
				return []object{{"id": 9, "iid": 1, "title": "A change", "description": "It mends nets.", "state": "merged", "updated_at": "2026-01-01T00:00:00.000Z", "web_url": s.URL + "/example/harbour/-/merge_requests/1", "author": object{"username": "ann"}, "labels": []string{}, "user_notes_count": 0}}
			case path == "/issues/1/notes":
				return []object{{"system": true, "body": "changed the label", "author": object{"username": "ann"}}, {"system": false, "body": "Look at the kelp.", "author": object{"username": "bob"}},
					{"system": false, "internal": true, "body": "A secret.", "author": object{"username": "bob"}}}
			}
			page, _ := strconv.Atoi(req.URL.Query().Get("page"))
			if page == 0 {
				out.Header().Set("Link", "<"+s.URL+req.URL.EscapedPath()+"?page=2>; rel=\"next\"")
			}
			return []object{{"id": 10 + page, "iid": 1 + page, "title": "Issue", "description": "Tides.", "state": "opened", "updated_at": "2026-01-01T00:00:00.000Z", "confidential": page == 2 && s.state["open"] == nil,
				"web_url": fmt.Sprint(s.URL, "/example/harbour/-/issues/", 1+page), "author": object{"username": "ann"}, "labels": []string{"x"}, "user_notes_count": 2 - page}}
		},
		first:  map[string]string{"/issues/1": "[ann bob] [gitlab:example/harbour]", "/merge_requests/1": "[ann bob] [gitlab:example/harbour]", "/wikis/home": "[ann bob] [gitlab:example/harbour]"},
		text:   map[string]string{"/issues/1": "bob: Look at the kelp."},
		change: func(s *recipeServer) { s.state["member"], s.state["open"] = "eve", true },
		then:   map[string]string{"/issues/1": "[ann eve] [gitlab:example/harbour]", "/issues/3": "[ann eve] [gitlab:example/harbour]", "/merge_requests/1": "[ann eve] [gitlab:example/harbour]", "/wikis/home": "[ann eve] [gitlab:example/harbour]"},
	},
	"jira": {
		config: map[string]string{"url": "URL", "project": "HARB", "email": "me@example.com"}, auth: "Basic bWVAZXhhbXBsZS5jb206dG9rLTE=",
		serve: func(s *recipeServer, out http.ResponseWriter, req *http.Request) any {
			if req.URL.Path == "/rest/api/3/user/permission/search" {
				return []object{{"accountId": "a1", "emailAddress": s.state["member"], "active": true}, {"accountId": "a2", "active": true}, {"accountId": "a3", "emailAddress": "left@example.com", "active": false}}
			}
			if jql := req.URL.Query().Get("jql"); !strings.HasPrefix(jql, `project = "HARB" AND updated >= "20`) {
				return fails(out, http.StatusBadRequest)
			}
			issue := func(key string, security any) object {
				return object{"id": key, "key": key, "fields": object{"summary": "About " + key, "updated": "2026-01-01T10:00:00.000+0100", "status": object{"name": "Open"}, "labels": []string{"x"}, "issuetype": object{"name": "Bug"}, "reporter": nil, "security": security},
					"renderedFields": object{"description": "<p>Tides of " + key + ".</p>", "comment": object{"comments": []object{{"author": object{"displayName": "Bob"}, "body": "<p>Kelp.</p>"}, {"author": object{"displayName": "Bob"}, "body": "<p>Hidden.</p>", "visibility": object{"type": "role"}}}}}}
			}
			if req.URL.Query().Get("nextPageToken") == "" {
				return object{"issues": []object{issue("HARB-1", nil)}, "nextPageToken": "p2", "isLast": false}
			}
			return object{"issues": []object{issue("HARB-2", s.state["security"]), issue("HARB-3", nil)}, "isLast": true}
		},
		first:  map[string]string{"/browse/HARB-1": "[a2 bob] []", "/browse/HARB-2": "[a2 bob] []", "/browse/HARB-3": "[a2 bob] []"},
		text:   map[string]string{"/browse/HARB-1": "Kelp."},
		change: func(s *recipeServer) { s.state["member"], s.state["security"] = "eve", object{"id": "5"} },
		then:   map[string]string{"/browse/HARB-1": "[a2 eve] []", "/browse/HARB-3": "[a2 eve] []"},
	},
	"confluence": {
		config: map[string]string{"url": "URL", "space": "DOCS", "email": "me@example.com"}, auth: "Basic bWVAZXhhbXBsZS5jb206dG9rLTE=",
		serve: func(s *recipeServer, _ http.ResponseWriter, req *http.Request) any {
			page := func(id string, above []object, users ...any) object {
				list := []object{}
				for _, u := range users {
					list = append(list, object{"accountId": u, "email": u})
				}
				return object{"id": id, "title": "Page " + id, "ancestors": above, "body": object{"storage": object{"value": "<p>Text of " + id + ".</p>"}}, "version": object{"when": "2026-01-01T00:00:00.000Z", "by": object{"displayName": "Ann"}},
					"metadata": object{"labels": object{"results": []object{{"name": "x"}}}}, "restrictions": object{"read": object{"restrictions": object{"user": object{"results": list}, "group": object{"results": []object{}}}}}}
			}
			if req.URL.Query().Get("cursor") == "" {
				return object{"results": []object{page("1", []object{}), page("2", []object{{"id": "1"}}, "ann", s.state["member"])}, "_links": object{"next": "/rest/api/content/search?" + req.URL.RawQuery + "&cursor=c2"}}
			}
			below := []object{{"id": "1"}, {"id": "2"}}
			all := []object{page("3", below), page("4", below, "eve", "bob"), page("6", []object{{"id": "hidden"}})}
			if s.state["gone"] == nil {
				all = append(all, page("5", []object{}))
			}
			return object{"results": all, "_links": object{}}
		},
		first:  map[string]string{"/pages/1": "[] [confluence:DOCS]", "/pages/2": "[ann bob] []", "/pages/3": "[ann bob] []", "/pages/4": "[bob] []", "/pages/5": "[] [confluence:DOCS]", "/pages/6": "[] []"},
		text:   map[string]string{"/pages/3": "Text of 3."},
		change: func(s *recipeServer) { s.state["member"], s.state["gone"] = "eve", true },
		then:   map[string]string{"/pages/1": "[] [confluence:DOCS]", "/pages/2": "[ann eve] []", "/pages/3": "[ann eve] []", "/pages/4": "[eve] []", "/pages/6": "[] []"},
	},
	"zendesk": {
		config: map[string]string{"url": "URL", "email": "me@example.com"}, auth: "Basic bWVAZXhhbXBsZS5jb20vdG9rZW46dG9rLTE=",
		serve: func(s *recipeServer, _ http.ResponseWriter, req *http.Request) any {
			switch path := strings.TrimPrefix(req.URL.Path, "/api/v2"); {
			case path == "/help_center/articles" && req.URL.Query().Get("page[after]") == "":
				return object{"articles": []object{{"id": 1, "title": "Open", "body": "<p>Tides.</p>", "html_url": s.URL + "/hc/1", "updated_at": "2026-01-01T00:00:00Z", "draft": false, "user_segment_id": s.state["segment"], "label_names": []string{}}}, "meta": object{"has_more": true, "after_cursor": "c2"}}
			case path == "/help_center/articles":
				return object{"articles": []object{{"id": 2, "title": "Draft", "body": "<p>Not yet.</p>", "html_url": s.URL + "/hc/2", "updated_at": "2026-01-01T00:00:00Z", "draft": true, "user_segment_id": nil}}, "meta": object{"has_more": false, "after_cursor": "c3"}}
			case strings.HasSuffix(path, "/comments"):
				return object{"comments": []object{{"plain_body": "The kelp is late."}}, "meta": object{"has_more": false}}
			}
			status, at := "open", "2026-01-01T00:00:00Z"
			if s.state["gone"] != nil {
				status, at = "deleted", "2026-02-01T00:00:00Z"
			}
			return object{"tickets": []object{{"id": 7, "subject": "Late", "status": status, "updated_at": at, "tags": []string{"x"}}}, "after_cursor": "t2", "end_of_stream": true}
		},
		first:  map[string]string{"/hc/1": "[] [everyone]", "/agent/tickets/7": "[] [zendesk:agents]"},
		text:   map[string]string{"/agent/tickets/7": "The kelp is late."},
		change: func(s *recipeServer) { s.state["segment"], s.state["gone"] = 12, true },
		then:   map[string]string{"/hc/1": "[] [zendesk:segment:12]"},
	},
	"notion": {
		config: map[string]string{"url": "URL"}, auth: "Bearer tok-1",
		serve: func(s *recipeServer, _ http.ResponseWriter, req *http.Request) any {
			text := func(t string) []object { return []object{{"plain_text": t}} }
			switch req.URL.Path {
			case "/v1/blocks/p1/children":
				return object{"results": []object{{"id": "b1", "type": "heading_2", "heading_2": object{"rich_text": text("Tides")}, "has_children": false}, {"id": "b2", "type": "toggle", "toggle": object{"rich_text": text("More")}, "has_children": true},
					{"id": "p2", "type": "child_page", "child_page": object{"title": "Below"}, "has_children": true}}, "has_more": false}
			case "/v1/blocks/b2/children":
				return object{"results": []object{{"id": "b3", "type": "table_row", "table_row": object{"cells": []any{text("kelp"), text("late")}}, "has_children": false}}, "has_more": false}
			case "/v1/blocks/p2/children":
				return object{"results": []object{{"id": "b4", "type": "paragraph", "paragraph": object{"rich_text": text("Below.")}, "has_children": false}}, "has_more": false}
			}
			page := func(id, at string, trash bool) object {
				return object{"object": "page", "id": id, "url": s.URL + "/" + id, "last_edited_time": at, "archived": false, "in_trash": trash, "properties": object{"Tags": object{"type": "multi_select"}, "Name": object{"type": "title", "title": text("Title " + id)}}}
			}
			if deepAt(req, "start_cursor") != "c2" {
				at := "2026-01-02T00:00:00.000Z"
				if s.state["gone"] != nil {
					at = "2026-02-02T00:00:00.000Z"
				}
				return object{"results": []object{page("p2", at, s.state["gone"] != nil)}, "has_more": true, "next_cursor": "c2"}
			}
			return object{"results": []object{page("p1", "2026-01-01T00:00:00.000Z", false)}, "has_more": false, "next_cursor": nil}
		},
		first:  map[string]string{"/p1": "[] [notion]", "/p2": "[] [notion]"},
		text:   map[string]string{"/p1": "## Tides\n\nMore\n\nkelp | late", "/p2": "Below."},
		change: func(s *recipeServer) { s.state["gone"] = true },
		then:   map[string]string{"/p1": "[] [notion]"},
	},
	"slack": {
		config: map[string]string{"url": "URL", "workspace": "https://example.slack.com"}, auth: "Bearer tok-1",
		serve: func(s *recipeServer, _ http.ResponseWriter, req *http.Request) any {
			q := req.URL.Query()
			channels := map[string]object{
				"C1": {"id": "C1", "name": "tides", "is_private": false, "is_member": true}, "C2": {"id": "C2", "name": "board", "is_private": true, "is_member": true}, "C3": {"id": "C3", "name": "other", "is_private": false, "is_member": false},
			}
			ok := func(more object) object { more["ok"] = true; return more }
			switch req.URL.Path {
			case "/users.list":
				return ok(object{"members": []object{{"id": "U1", "name": "ann", "real_name": "Ann", "profile": object{"email": "ann@example.com"}}, {"id": "U2", "name": "bob", "real_name": "Bob", "profile": object{"email": "bob@example.com"}}, {"id": "U3", "deleted": true}}})
			case "/conversations.list":
				if q.Get("cursor") == "" {
					return ok(object{"channels": []object{channels["C1"]}, "response_metadata": object{"next_cursor": "c2="}})
				}
				return ok(object{"channels": []object{channels["C2"], channels["C3"]}, "response_metadata": object{"next_cursor": ""}})
			case "/conversations.info":
				return ok(object{"channel": channels[q.Get("channel")]})
			case "/conversations.members":
				if q.Get("channel") == "C2" && s.state["left"] != nil {
					return ok(object{"members": []string{"U1"}})
				}
				return ok(object{"members": []string{"U1", "U2", "U3"}})
			case "/conversations.replies":
				return ok(object{"messages": []object{{"ts": q.Get("ts"), "user": "U1", "text": "When?"}, {"ts": "1767225700.000100", "user": "U2", "text": "At noon, by the kelp."}}})
			case "/conversations.history":
				if q.Get("channel") == "C2" {
					return ok(object{"messages": []object{{"ts": "1767225800.000200", "user": "U1", "text": "The budget."}, {"ts": "1767225801.000200", "subtype": "channel_join", "text": "joined"}}})
				}
				return ok(object{"messages": []object{{"ts": "1767225600.000100", "user": "U1", "text": "When?", "reply_count": 1, "latest_reply": "1767225700.000100"}}})
			}
			return object{"ok": false, "error": "unknown_method"}
		},
		first:  map[string]string{"/archives/C1/p1767225600000100": "[ann@example.com bob@example.com] [slack]", "/archives/C2/p1767225800000200": "[ann@example.com bob@example.com] []"},
		text:   map[string]string{"/archives/C1/p1767225600000100": "Bob: At noon, by the kelp."},
		change: func(s *recipeServer) { s.state["left"] = true },
		then:   map[string]string{"/archives/C1/p1767225600000100": "[ann@example.com bob@example.com] [slack]", "/archives/C2/p1767225800000200": "[ann@example.com] []"},
	},
	"discourse": {
		config: map[string]string{"url": "URL", "user": "system"}, auth: "Api-Key=tok-1",
		serve: func(s *recipeServer, out http.ResponseWriter, req *http.Request) any {
			switch path, page := req.URL.Path, req.URL.Query().Get("page"); {
			case path == "/site.json":
				return object{"categories": []object{{"id": 1, "name": "Open", "slug": "open", "read_restricted": s.state["closed"] != nil}, {"id": 2, "name": "Staff", "slug": "staff", "read_restricted": true}}}
			case path == "/latest.json":
				topic := func(id, category int) object {
					return object{"id": id, "title": fmt.Sprint("Topic ", id), "last_posted_at": "2026-01-01T00:00:00.000Z", "bumped_at": "2026-01-01T00:00:00.000Z", "posts_count": 21, "category_id": category, "visible": true, "tags": []string{"x"}}
				}
				if page == "" {
					return object{"topic_list": object{"topics": []object{topic(1, 1)}, "more_topics_url": "/latest?page=1"}}
				}
				return object{"topic_list": object{"topics": []object{topic(2, 2)}}}
			case page == "3":
				return fails(out, http.StatusNotFound)
			}
			posts := []object{}
			for range map[string]int{"": 20, "2": 1}[req.URL.Query().Get("page")] {
				posts = append(posts, object{"username": "bob", "cooked": "<p>Kelp of page " + req.URL.Query().Get("page") + ".</p>"})
			}
			return object{"post_stream": object{"posts": posts}}
		},
		first:  map[string]string{"/t/1": "[] [everyone]", "/t/2": "[] [discourse:staff]"},
		text:   map[string]string{"/t/1": "Kelp of page 2."},
		change: func(s *recipeServer) { s.state["closed"] = true },
		then:   map[string]string{"/t/1": "[] [discourse:open]", "/t/2": "[] [discourse:staff]"},
	},
	"linear": {
		config: map[string]string{"url": "URL"}, auth: "tok-1",
		serve: func(s *recipeServer, _ http.ResponseWriter, req *http.Request) any {
			issue := func(id string, private bool, trashed any) object {
				return object{"id": id, "identifier": id, "title": "About " + id, "description": nil, "url": s.URL + "/issue/" + id, "updatedAt": "2026-01-01T00:00:00.000Z", "trashed": trashed, "priorityLabel": "High", "state": object{"name": "Todo"}, "creator": nil,
					"labels": object{"nodes": []object{{"name": "x"}}}, "team": object{"key": "HAR", "private": private}, "comments": object{"nodes": []object{{"body": "Kelp.", "user": object{"name": "Bob"}}, {"body": "By a bot.", "user": nil}}}}
			}
			if deepAt(req, "variables", "after") == nil {
				return object{"data": object{"issues": object{"nodes": []object{issue("H-1", s.state["private"] != nil, nil)}, "pageInfo": object{"hasNextPage": true, "endCursor": "e1"}}}}
			}
			return object{"data": object{"issues": object{"nodes": []object{issue("H-2", true, s.state["private"]), issue("H-3", false, nil)}, "pageInfo": object{"hasNextPage": false, "endCursor": "e2"}}}}
		},
		first:  map[string]string{"/issue/H-1": "[] [linear]", "/issue/H-2": "[] [linear:HAR]", "/issue/H-3": "[] [linear]"},
		text:   map[string]string{"/issue/H-1": "Bob: Kelp.\n\nBy a bot."},
		change: func(s *recipeServer) { s.state["private"] = true },
		then:   map[string]string{"/issue/H-1": "[] [linear:HAR]", "/issue/H-3": "[] [linear]"},
	},
	"intercom": {
		config: map[string]string{"url": "URL"}, auth: "Bearer tok-1",
		serve: func(s *recipeServer, _ http.ResponseWriter, req *http.Request) any {
			if req.URL.Query().Get("page") == "1" {
				var all []object
				for i := range 50 {
					all = append(all, object{"id": fmt.Sprint(i), "title": "Draft", "body": "<p>Not yet.</p>", "url": fmt.Sprint(s.URL, "/a/", i), "state": "draft", "updated_at": 1767225600})
				}
				return object{"type": "list", "data": all}
			}
			state := "published"
			if s.state["gone"] != nil {
				state = "draft"
			}
			return object{"type": "list", "data": []object{{"id": "x", "title": "Tides", "body": "<p>Kelp.</p>", "url": s.URL + "/a/x", "state": state, "updated_at": 1767225600}, {"id": "y", "title": "Winds", "body": "<p>Wind.</p>", "url": s.URL + "/a/y", "state": "published", "updated_at": 1767225600}}}
		},
		first:  map[string]string{"/a/x": "[] [everyone]", "/a/y": "[] [everyone]"},
		text:   map[string]string{"/a/x": "Kelp."},
		change: func(s *recipeServer) { s.state["gone"] = true },
		then:   map[string]string{"/a/y": "[] [everyone]"},
	},
}

// A recipe reads what its vendor's API answers, in pages and after being refused as too busy; the next run takes away what is
// gone, and the permissions that are.
func TestRecipes(t *testing.T) {
	t.Parallel()
	served := newSecretService(t, "127.0.0.1")
	for name, c := range recipeCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &recipeServer{state: map[string]any{"member": "bob"}, limited: true}
			s.api = newAPI(t, func(out http.ResponseWriter, req *http.Request) any {
				header, want, ok := strings.Cut(c.auth, "=")
				if !ok || strings.Contains(header, " ") {
					header, want = "Authorization", c.auth
				}
				if req.Header.Get(header) != want {
					return fails(out, http.StatusUnauthorized)
				}
				if s.limited {
					s.limited = false
					out.Header().Set("Retry-After", "0")
					out.Header().Set("X-RateLimit-Reset", "1")
					return fails(out, http.StatusTooManyRequests)
				}
				return c.serve(s, out, req)
			})
			tenant := newTenant(t, served, name)
			setSecret(t, tenant, "token", "tok-1", strings.TrimPrefix(s.URL, "http://"))
			config := map[string]string{"token": "{{secrets.token}}"}
			for key, value := range c.config {
				config[key] = strings.ReplaceAll(value, "URL", s.URL)
			}
			site := s.URL
			if c.config["workspace"] != "" {
				site = c.config["workspace"]
			}
			check := func(got *ragdv1.Connector, want map[string]string) {
				t.Helper()
				if got.Status != "succeeded" || got.Counts.Failed > 0 || got.Paused {
					t.Fatalf("run: %v", got)
				}
				uris, found := slices.Sorted(maps.Keys(want)), []string{}
				for _, one := range documentsUnder(t, tenant, site) {
					uri, _, _ := strings.Cut(one, " ")
					found = append(found, uri)
					for _, end := range uris {
						if strings.HasSuffix(uri, end) && aclOf(t, tenant, site+uri) != want[end] {
							t.Errorf("%s: acl %s", uri, aclOf(t, tenant, site+uri))
						}
					}
				}
				if len(found) != len(uris) {
					t.Errorf("documents %v, want %v", found, uris)
				}
			}
			got := create(t, tenant, ofRecipe(name, config))
			check(got, c.first)
			for end, want := range c.text {
				for _, one := range documentsUnder(t, tenant, site) {
					if uri, _, _ := strings.Cut(one, " "); strings.HasSuffix(uri, end) && !strings.Contains(textOf(t, tenant, site+uri), want) {
						t.Errorf("%s has the text %q", uri, textOf(t, tenant, site+uri))
					}
				}
			}
			s.change(func() { c.change(s) })
			check(resync(t, tenant), c.then)
		})
	}
}
