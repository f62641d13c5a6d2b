package connector_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// gitHost serves repositories with git's own server, and remembers what it sent.
type gitHost struct {
	URL string

	root string // folder of the repositories
	work string // folder with the files of the first one

	mu       sync.Mutex
	password string // that it asks for; empty for none
	asked    []string
	sent     int
}

// newGitHost makes a repository with files. partial is whether the server can leave out files.
func newGitHost(t *testing.T, partial bool, files map[string]string) *gitHost {
	t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skip("git is missing")
	}
	program := filepath.Join(strings.TrimSpace(string(path)), "git-http-backend")
	if _, err := os.Stat(program); err != nil {
		t.Skip("git-http-backend is missing")
	}
	h := &gitHost{root: t.TempDir(), work: t.TempDir()}
	backend := &cgi.Handler{Path: program, Env: []string{"GIT_PROJECT_ROOT=" + h.root, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		password := h.password
		h.asked = append(h.asked, r.Method+" "+strings.TrimPrefix(r.URL.String(), "/docs.git"))
		h.mu.Unlock()
		if _, given, _ := r.BasicAuth(); given != password {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(&countingWriter{w, h}, r)
	}))
	t.Cleanup(server.Close)
	h.URL = server.URL + "/docs.git"
	h.git(t, "", "init", "-q", "-b", "main")
	h.commit(t, files)
	h.git(t, "", "clone", "-q", "--bare", h.work, filepath.Join(h.root, "docs.git"))
	for _, name := range []string{"uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"} {
		h.git(t, "", "-C", filepath.Join(h.root, "docs.git"), "config", name, fmt.Sprint(partial))
	}
	return h
}

type countingWriter struct {
	http.ResponseWriter

	host *gitHost
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.host.mu.Lock()
	w.host.sent += len(p)
	w.host.mu.Unlock()
	return w.ResponseWriter.Write(p)
}

// git runs git in the folder with the files and returns its output.
func (h *gitHost) git(t *testing.T, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = h.work, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_DATE=2024-05-06T07:08:09Z", "GIT_COMMITTER_DATE=2024-05-06T07:08:09Z",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit changes files, removes those with an empty text, and commits.
func (h *gitHost) commit(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(h.work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.git(t, "", "add", "-A")
	h.git(t, "", "commit", "-q", "--allow-empty", "-m", "change")
}

// push changes the branch of the server.
func (h *gitHost) push(t *testing.T, files map[string]string) {
	t.Helper()
	h.commit(t, files)
	h.git(t, "", "push", "-q", "-f", filepath.Join(h.root, "docs.git"), "HEAD:main")
}

// take returns the requests since the last call, and how many bytes were sent.
func (h *gitHost) take() ([]string, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked, sent := h.asked, h.sent
	h.asked, h.sent = nil, 0
	return asked, sent
}

func git(g *ragdv1.GitSource) *ragdv1.CreateConnectorRequest {
	return &ragdv1.CreateConnectorRequest{ConnectorName: "site", Source: &ragdv1.CreateConnectorRequest_Git{Git: g}}
}

// newSecretService returns a service that can store secrets.
func newSecretService(t *testing.T, allowed ...string) *servicetest.Service {
	t.Helper()
	keys, err := seal.Parse(strings.Repeat("1", 2*seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return servicetest.New(t, service.Config{AllowedPrivateNetworks: allowed, MasterKeys: keys})
}

// jobs returns how many jobs the tenant has had.
func jobs(t *testing.T, c servicetest.Client) int {
	t.Helper()
	list, err := c.ListJobs(t.Context(), &ragdv1.ListJobsRequest{PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Jobs)
}

// reasons returns why items have a status, by the ends of their ids.
func reasons(t *testing.T, c servicetest.Client, status, prefix string) map[string]string {
	t.Helper()
	list, err := c.ListConnectorItems(t.Context(), &ragdv1.ListConnectorItemsRequest{ConnectorName: "site", Status: status})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, i := range list.Items {
		found[strings.TrimPrefix(i.Id, prefix)] = i.Reason
	}
	return found
}

func wantReasons(t *testing.T, got, want map[string]string) {
	t.Helper()
	for id, reason := range want {
		if !strings.Contains(got[id], reason) || got[id] == "" {
			t.Errorf("%s: %q, want %q", id, got[id], reason)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestARepositoryIsFollowed(t *testing.T) {
	t.Parallel()
	noise := rand.NewChaCha8([32]byte{1})
	random := make([]byte, 200_000)
	_, _ = noise.Read(random)
	for name, partial := range map[string]bool{"files can be left out": true, "all files are sent": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newGitHost(t, partial, map[string]string{
				"README.md": "# Home\n\nThis is home.", "docs/a.md": "# A\n\nThis is a.", "docs/deep/b c.md": "# B\n\nThis is b.",
				"docs/big.md": "# Big\n\n" + hex.EncodeToString(random), "docs/other.md": "not this", "code/main.go": "package main",
				"docs/lfs.pdf": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "docs/logo.png": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
			})
			if err := os.Symlink("/etc/passwd", filepath.Join(host.work, "docs/link.md")); err != nil {
				t.Fatal(err)
			}
			host.git(t, "", "update-index", "--add", "--cacheinfo", "160000,"+host.git(t, "", "rev-parse", "HEAD")+",docs/module")
			host.git(t, "", "add", "docs/link.md")
			host.git(t, "", "commit", "-q", "-m", "link")
			host.git(t, "", "push", "-q", filepath.Join(host.root, "docs.git"), "HEAD:main")
			s := newService(t)
			acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
			req := git(&ragdv1.GitSource{Url: host.URL, Include: []string{"docs/*", "*.md"}, Exclude: []string{"*/other.md"}})
			req.Metadata = map[string]string{"path": "item.attributes.path", "author": "item.attributes.author", "at": "item.attributes.authorTime"}
			got := create(t, acme, req)
			if n := got.Counts; got.Status != "succeeded" || n.Added != 4 || n.Skipped != 3 || n.Failed != 1 {
				t.Errorf("first run: %v", got)
			}
			prefix := host.URL + "#HEAD:"
			equal(t, "documents", documentsUnder(t, acme, prefix), []string{"README.md v1", "docs/a.md v1", "docs/big.md v1", "docs/deep/b%20c.md v1"})
			wantReasons(t, reasons(t, acme, "skipped", prefix), map[string]string{"docs/lfs.pdf": "Git LFS", "docs/link.md": "symbolic link", "docs/module": "submodule"})
			wantReasons(t, reasons(t, acme, "failed", prefix), map[string]string{"docs/logo.png": "image"})
			list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range list.Documents {
				m := d.Metadata.AsMap()
				if want := strings.ReplaceAll(strings.TrimPrefix(d.Uri, prefix), "%20", " "); m["path"] != want || m["author"] != "Ann" || m["at"] != "2024-05-06T07:08:09Z" || m["connector"] != "site" {
					t.Errorf("metadata of %s: %v", d.Uri, m)
				}
			}
			equal(t, "documents of another tenant", documentsUnder(t, bolt, prefix), []string{})

			// Nothing has changed: nothing but the name of the commit is asked for.
			before := jobs(t, acme)
			host.take()
			if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Added+got.Counts.Updated+got.Counts.Deleted != 0 {
				t.Errorf("second run: %v", got)
			}
			asked, _ := host.take()
			equal(t, "requests", asked, []string{"GET /info/refs?service=git-upload-pack"})
			if n := jobs(t, acme); n != before {
				t.Errorf("%d jobs after %d", n, before)
			}

			// A file changes, one comes, one goes. The others are not read, nor sent if the server can leave them out.
			host.push(t, map[string]string{"docs/a.md": "# A\n\nThis is the new a.", "docs/new.md": "# New\n\nThis is new.", "README.md": ""})
			if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Updated != 1 || got.Counts.Added != 1 || got.Counts.Deleted != 1 || got.Counts.Unchanged != 2 || got.Counts.Failed != 1 {
				t.Errorf("third run: %v", got)
			}
			asked, sent := host.take()
			if partial && (len(asked) != 3 || sent > 20_000) || !partial && len(asked) != 2 {
				t.Errorf("%v, %d bytes", asked, sent)
			}
			equal(t, "documents", documentsUnder(t, acme, prefix), []string{"docs/a.md v2", "docs/big.md v1", "docs/deep/b%20c.md v1", "docs/new.md v1"})

			// More than half of the files go: the connector asks.
			host.push(t, map[string]string{"docs/a.md": "", "docs/big.md": "", "docs/new.md": ""})
			if got = resync(t, acme); !got.Paused || got.Counts.Deleted != 0 {
				t.Errorf("fourth run: %v", got)
			}
			if _, err := acme.ResumeConnector(t.Context(), &ragdv1.ResumeConnectorRequest{ConnectorName: "site", AcceptDeletions: true}); err != nil {
				t.Fatal(err)
			}
			if got = ended(t, acme, got); got.Paused || got.Counts.Deleted != 3 {
				t.Errorf("run after the consent: %v", got)
			}
			equal(t, "documents", documentsUnder(t, acme, prefix), []string{"docs/deep/b%20c.md v1"})
		})
	}
}

func TestABranchOfAPrivateRepositoryIsRead(t *testing.T) {
	t.Parallel()
	host := newGitHost(t, true, map[string]string{"a.md": "# A\n\nThis is a."})
	host.password = "token-1234"
	host.git(t, "", "checkout", "-q", "-b", "next")
	host.commit(t, map[string]string{"b.md": "# B\n\nThis is b."})
	host.git(t, "", "push", "-q", filepath.Join(host.root, "docs.git"), "HEAD:next")
	acme := newTenant(t, newSecretService(t, "127.0.0.1"), "acme")
	ctx := t.Context()
	secret := func(name, value string, hosts ...string) {
		t.Helper()
		if _, err := acme.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: name, Value: value, Hosts: &ragdv1.SecretHosts{Hosts: hosts}}); err != nil {
			t.Fatal(err)
		}
	}
	secret("wrong", "token-0000")
	secret("elsewhere", "token-1234", "git.example.com")
	secret("token", "token-1234", strings.Split(host.URL, "/")[2])
	for name, code := range map[string]connect.Code{"missing": connect.CodeNotFound, "elsewhere": connect.CodePermissionDenied} {
		if _, err := acme.CreateConnector(ctx, git(&ragdv1.GitSource{Url: host.URL, SecretName: name})); connect.CodeOf(err) != code {
			t.Errorf("%s: %v", name, err)
		}
	}
	got := create(t, acme, git(&ragdv1.GitSource{Url: host.URL, Branch: "next", SecretName: "wrong"}))
	if got.Status != "failed" || !strings.Contains(got.Error, "needs a user and a token") {
		t.Errorf("a wrong token: %v", got)
	}
	update := func(g *ragdv1.GitSource) *ragdv1.Connector {
		t.Helper()
		if _, err := acme.UpdateConnector(ctx, &ragdv1.UpdateConnectorRequest{ConnectorName: "site", Source: &ragdv1.UpdateConnectorRequest_Git{Git: g}}); err != nil {
			t.Fatal(err)
		}
		return ended(t, acme, got)
	}
	got = update(&ragdv1.GitSource{Url: host.URL, Branch: "next", User: "ann", SecretName: "token"})
	if got.Status != "succeeded" || got.Counts.Added != 2 {
		t.Errorf("with a token: %v", got)
	}
	equal(t, "documents", documentsUnder(t, acme, host.URL+"#"), []string{"next:a.md v1", "next:b.md v1"})
	asked, _ := host.take()
	if shown := fmt.Sprint(got, asked); strings.Contains(shown, "token-1234") {
		t.Errorf("the token is shown: %s", shown)
	}
	if got = update(&ragdv1.GitSource{Url: host.URL, Branch: "none", SecretName: "token"}); got.Status != "failed" || !strings.Contains(got.Error, `no branch "none"`) {
		t.Errorf("no such branch: %v", got)
	}
	if _, err := acme.DeleteSecret(ctx, &ragdv1.DeleteSecretRequest{SecretName: "token"}); err != nil {
		t.Fatal(err)
	}
	if got = resync(t, acme); got.Status != "failed" || !strings.Contains(got.Error, `secret "token" not found`) {
		t.Errorf("without its secret: %v", got)
	}
}

// A repository that redirects into the network of the service, or elsewhere, gets no answer and no token.
func TestARepositoryCannotRedirectIntoTheOperatorsNetwork(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	inside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Authorization"))
	}))
	t.Cleanup(inside.Close)
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside.URL+r.URL.RequestURI(), http.StatusFound)
	}))
	t.Cleanup(outside.Close)
	public := strings.Replace(outside.URL, "127.0.0.1", "localhost", 1) + "/docs.git"
	for _, allowed := range [][]string{{"localhost"}, {"localhost", "127.0.0.1"}} {
		mu.Lock()
		seen = nil
		mu.Unlock()
		acme := newTenant(t, newSecretService(t, allowed...), "acme")
		if _, err := acme.SetSecret(t.Context(), &ragdv1.SetSecretRequest{SecretName: "token", Value: "token-1234"}); err != nil {
			t.Fatal(err)
		}
		got := create(t, acme, git(&ragdv1.GitSource{Url: public, SecretName: "token"}))
		mu.Lock()
		if len(allowed) == 1 && (len(seen) != 0 || !strings.Contains(got.Error, "allowed-private-networks")) || len(allowed) == 2 && !slices.Equal(seen, []string{""}) || got.Status != "failed" {
			t.Errorf("%v: asked %q, %v", allowed, seen, got)
		}
		mu.Unlock()
	}
}

// What a hostile repository does fails its connector with a reason, and deletes nothing.
func TestAHostileRepositoryFailsItsConnectorAlone(t *testing.T) {
	t.Parallel()
	const files = "the files of the repository"
	for name, c := range map[string]struct {
		partial bool
		prepare func(t *testing.T, h *gitHost)
		failure string            // of the run
		skipped map[string]string // else
		failed  map[string]string
	}{
		"few folders stand for many": {true, func(t *testing.T, h *gitHost) {
			tree := h.git(t, "100644 blob "+h.git(t, "# A bomb", "hash-object", "-w", "--stdin")+"\ta.md\n", "mktree")
			for range 20 {
				tree = h.git(t, fmt.Sprintf("040000 tree %[1]s\ta\n040000 tree %[1]s\tb\n", tree), "mktree")
			}
			h.git(t, "", "reset", "-q", "--soft", h.git(t, "", "commit-tree", "-m", "bomb", tree))
		}, "more than 40 files", nil, nil},
		"many files": {true, func(t *testing.T, h *gitHost) {
			many := map[string]string{}
			for i := range 41 {
				many[fmt.Sprintf("f%d.md", i)] = fmt.Sprint("# File ", i)
			}
			h.commit(t, many)
		}, "more than 40 files", nil, nil},
		"a huge file": {true, func(t *testing.T, h *gitHost) {
			h.commit(t, map[string]string{"huge.md": strings.Repeat("a", 40<<20), "large.md": strings.Repeat("a", 17<<20), "b.md": "# B\n\nThis is b."})
		}, "", nil, map[string]string{"huge.md": "has more than 16777216 bytes", "large.md": "has more than 16777216 bytes"}},
		"a huge file that is sent": {false, func(t *testing.T, h *gitHost) {
			h.commit(t, map[string]string{"huge.md": strings.Repeat("a", 40<<20)})
		}, "an object of more than 33554432 bytes", nil, nil},
		"names": {true, func(t *testing.T, h *gitHost) {
			h.commit(t, map[string]string{"a\x01b.md": "# A", "\xff.md": "# B"})
		}, "", map[string]string{"a%01b.md": "control characters", "%EF%BF%BD.md": "not valid UTF-8"}, nil},
		"no commit": {true, func(t *testing.T, h *gitHost) {
			h.git(t, "", "-C", filepath.Join(h.root, "docs.git"), "update-ref", "--no-deref", "-d", "refs/heads/main")
		}, "no commits", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newGitHost(t, c.partial, map[string]string{"a.md": "# A\n\nThis is a."})
			acme := newTenant(t, newService(t), "acme")
			req := git(&ragdv1.GitSource{Url: host.URL})
			req.MaxItems = 40
			if got := create(t, acme, req); got.Status != "succeeded" {
				t.Fatalf("%s: %v", files, got)
			}
			c.prepare(t, host)
			if c.failure != "no commits" {
				host.git(t, "", "push", "-q", "-f", filepath.Join(host.root, "docs.git"), "HEAD:main")
			}
			got := resync(t, acme)
			if c.failure != "" {
				if got.Status != "failed" || !strings.Contains(got.Error, c.failure) {
					t.Errorf("run: %v", got)
				}
				equal(t, "documents", documentsUnder(t, acme, host.URL+"#HEAD:"), []string{"a.md v1"})
				return
			}
			if got.Status != "succeeded" {
				t.Errorf("run: %v", got)
			}
			wantReasons(t, reasons(t, acme, "skipped", host.URL+"#HEAD:"), c.skipped)
			wantReasons(t, reasons(t, acme, "failed", host.URL+"#HEAD:"), c.failed)
		})
	}
}

func TestWhatIsNoRepositoryFailsItsConnector(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"/page/info/refs":      "<html>no repository</html>",
		"/empty/info/refs":     "",
		"/lie/info/refs":       "001e# service=git-upload-pack\n0000003d1111111111111111111111111111111111111111 HEAD\x00side-band\n0000",
		"/lie/git-upload-pack": "0008NAK\n000ePACK\x01\x00\x00\x00\x00",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, answers[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	acme := newTenant(t, newService(t), "acme")
	for _, path := range slices.Sorted(maps.Keys(map[string]bool{"/page": true, "/empty": true, "/lie": true})) {
		got := create(t, acme, git(&ragdv1.GitSource{Url: server.URL + path}))
		if got.Status != "failed" || !strings.Contains(got.Error, "repository") || strings.Contains(got.Error, "internal") {
			t.Errorf("%s: %v", path, got)
		}
		if _, err := acme.DeleteConnector(t.Context(), &ragdv1.DeleteConnectorRequest{ConnectorName: "site"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARepositoryIsTested(t *testing.T) {
	t.Parallel()
	host := newGitHost(t, true, map[string]string{"a.md": "# A\n\nThis is a.", "b.md": "# B\n\nThis is b."})
	acme := newTenant(t, newService(t), "acme")
	req := git(&ragdv1.GitSource{Url: host.URL})
	req.Paused, req.Metadata = true, map[string]string{"path": "item.attributes.path"}
	if _, err := acme.CreateConnector(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	tested, err := acme.TestConnector(t.Context(), &ragdv1.TestConnectorRequest{ConnectorName: "site"})
	if err != nil || len(tested.Items) != 2 || !tested.Complete || tested.Items[0].Status != "would_store" || tested.Items[0].Metadata.AsMap()["path"] != "a.md" {
		t.Fatalf("test: %v %v", tested, err)
	}
	equal(t, "documents after a test", documentsUnder(t, acme, ""), []string{})
}

func TestInvalidRepositoriesAreRejected(t *testing.T) {
	t.Parallel()
	acme := newTenant(t, newService(t), "acme")
	for field, change := range map[string]func(*ragdv1.GitSource){
		"git.url":        func(g *ragdv1.GitSource) { g.Url = "https://ann:token-1234@example.com/docs.git" },
		"git.branch":     func(g *ragdv1.GitSource) { g.Branch = "a..b" },
		"git.include":    func(g *ragdv1.GitSource) { g.Include = make([]string, 51) },
		"git.exclude":    func(g *ragdv1.GitSource) { g.Exclude = []string{""} },
		"git.user":       func(g *ragdv1.GitSource) { g.User, g.SecretName = "ann:token", "token" },
		"git.secretName": func(g *ragdv1.GitSource) { g.SecretName = "a b" },
	} {
		g := &ragdv1.GitSource{Url: "https://example.com/docs.git"}
		change(g)
		_, err := acme.CreateConnector(t.Context(), git(g))
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), field) || bytes.Contains([]byte(err.Error()), []byte("token-1234")) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, address := range []string{"ssh://git@example.com/docs.git", "file:///srv/docs.git", "git@example.com:docs.git", "/srv/docs.git"} {
		if _, err := acme.CreateConnector(t.Context(), git(&ragdv1.GitSource{Url: address})); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v", address, err)
		}
	}
}
