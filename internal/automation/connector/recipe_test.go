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

// textOf returns the text of a document.
func textOf(t *testing.T, c servicetest.Client, uri string) string {
	t.Helper()
	got, err := c.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{IndexName: "docs", Uri: uri})
	if err != nil {
		t.Fatal(err)
	}
	return got.GetText()
}
