package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/logtest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// notes returns a folder with documents about a harbour.
func notes(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "Harbour notes")
	for name, content := range map[string]string{
		"tides.md": "# Tides\n\n## When does the lock gate open?\n\nTwo hours before high water, if the wind allows it.\n",
		"fees.txt": "A berth costs twenty euros a night. Children sleep for free.\n", ".hidden.md": "hidden", "logo.png": "\x89PNG\x00",
	} {
		if err := os.MkdirAll(root, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// withoutServer returns a command of a user who has no service yet.
func (h *home) withoutServer(ctx context.Context, args ...string) *exec.Cmd {
	cmd := h.command(ctx, args...)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "RAGD_SERVER=") })
	cmd.Env = append(cmd.Env, "HOME="+h.dir)
	return cmd
}

// A newcomer without a service gets one that stays, and answers from the own folder; the second
// time the service is there.
func TestQuickstartFromNothing(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	h := newHome(t)
	folder := notes(t)
	if err := os.MkdirAll(filepath.Join(h.dir, ".cursor"), 0o755); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr logtest.Buffer
	first := h.withoutServer(context.Background(), "quickstart", folder)
	first.Stdout, first.Stderr, first.WaitDelay = &stdout, &stderr, time.Minute
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, first, syscall.SIGTERM) })
	wait.For(t, "the service to be shown", func() bool { return strings.Contains(stdout.String(), "Ctrl-C stops it") })
	out := stdout.String()
	for _, part := range []string{
		"== no service runs at ", "2 documents ready in index Harbour-notes", "== a question from your documents: When does the lock gate open?\n1. ",
		"tides.md", "Two hours before high water", "== connect Cursor", `"command": "`, "http://" + h.listen + "/sign-in#link=",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in\n%s%s", part, out, stderr.String())
		}
	}
	link := regexp.MustCompile(`http://\S+/sign-in#\S+`).FindString(out)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Errorf("the page answers %s", res.Status)
	}

	again, err := h.withoutServer(t.Context(), "quickstart", folder, "--json").Output()
	var report struct {
		Server, Index, Question, Link string
		Started                       bool
		Ready, Unchanged, Failed      int
		Sources                       []struct{ URI, Text string }
		Clients                       map[string]string
	}
	if err != nil || json.NewDecoder(bytes.NewReader(again)).Decode(&report) != nil {
		t.Fatalf("%v: %s", err, again)
	}
	if report.Started || report.Ready != 2 || report.Unchanged != 2 || report.Failed != 0 || report.Index != "Harbour-notes" || len(report.Sources) != 2 || report.Sources[0].URI != "tides.md" || report.Clients["Cursor"] == "" || report.Link == "" {
		t.Errorf("the second run: %s", again)
	}

	// The program of the snippet serves MCP as it is, without a variable.
	server := h.withoutServer(t.Context(), "mcp")
	server.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vector_query","arguments":{"queryText":"lock gate","indexName":"Harbour-notes"}}}` + "\n")
	if answer, err := server.Output(); err != nil || !strings.Contains(string(answer), "high water") {
		t.Errorf("ragd mcp: %v: %s", err, answer)
	}
}

func TestQuickstartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newOfflineSession(t)
	empty, useless := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(useless, "a.png"), []byte("\x89PNG\r\n\x1a\n\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{args: []string{"quickstart", empty}, code: 1, stderr: "ragd: " + empty + ": the folder is empty: put documents into it, or name another one\n"})
	s.want(t, step{args: []string{"quickstart", useless}, code: 1, stderr: "...none of its 1 file can be read, such as " + useless + "/a.png (of the kind image"})
	s.want(t, step{args: []string{"quickstart", empty + "/absent"}, code: 2, stderr: "...no such file or directory"})
	s.want(t, step{args: []string{"quickstart", useless + "/a.png"}, code: 2, stderr: "...a.png is no folder; `ragd ingest "})
	s.want(t, step{args: args("quickstart"), code: 2, stderr: "...FOLDER is missing, as in: ragd quickstart ~/notes"})
	s.want(t, step{args: []string{"quickstart", notes(t), "--server", "http://127.0.0.1:1"}, code: 1, stderr: "...no answer from http://127.0.0.1:1: "})
	s.env["RAGD_DATABASE_URL"] = "postgres://ragd:secret@127.0.0.1:1/ragd"
	s.configureAt(t, "http://127.0.0.1:1")
	s.want(t, step{args: []string{"quickstart", notes(t)}, code: 1, stdout: "...no service runs at URL: starting one", stderr: "...the service does not start: the database server at 127.0.0.1:1 cannot be reached"})
}

func TestQuickstartWithARunningService(t *testing.T) {
	t.Parallel()
	s := newSession(t, refusing(t)...)
	folder := notes(t)
	if err := os.WriteFile(filepath.Join(folder, "bad.txt"), []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{args: []string{"quickstart", folder, "--index", "mine"}, stdout: "...no MCP client was found on this machine", stderr: "...failed: " + folder + "/bad.txt: "})
	s.want(t, step{args: []string{"quickstart", folder, "--index", "mine", "--json"}, stdout: "...\"failed\": 1,\n  \"question\": \"When does the lock gate open?\"", stderr: anything})
	if err := os.RemoveAll(filepath.Join(folder, "tides.md")); err != nil {
		t.Fatal(err)
	}
	s.env["RAGD_API_KEY"] = "wrong"
	s.want(t, step{args: []string{"quickstart", folder}, code: 1, stderr: "ragd: URL refused the key from RAGD_API_KEY: it is wrong, was revoked, has expired, or belongs to another service; `ragd key create` makes a key, RAGD_API_KEY sets it\n"})
}
