package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/operate"
	"github.com/ragdhq/ragd/cmd/ragd/settings"
	"github.com/ragdhq/ragd/internal/service/testing/logtest"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// asRagd is the environment variable that makes the test binary run as ragd itself, so
// that tests can start and kill the real program. Child processes that read files have no
// environment and are recognised by their command.
const asRagd = "RAGD_TEST_AS_RAGD"

func TestMain(m *testing.M) {
	if os.Getenv(asRagd) != "" || len(os.Args) == 2 && os.Args[1] == settings.ParseWorker {
		main()
		return
	}
	os.Exit(m.Run())
}

// home is the home folder of a user who has not run ragd yet.
type home struct {
	t      *testing.T
	dir    string
	listen string
	env    []string
}

func newHome(t *testing.T, env ...string) *home {
	t.Helper()
	dir := t.TempDir()
	// An unprivileged PostgreSQL must be able to reach its folder.
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &home{t: t, dir: dir, listen: reserveAddress(t), env: env}
}

// reserveAddress returns a free address for a service that may be started again. No other test uses it
// until this one ends, and the system gives it to nobody, as its port is below those that it hands out.
func reserveAddress(t *testing.T) string {
	t.Helper()
	const lowest, ports = 20_000, 10_000
	for range ports {
		port := lowest + rand.IntN(ports)
		lock, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("ragd-test-port-%d", port)), os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			continue // another user's
		}
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = lock.Close()
			continue
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			_ = lock.Close()
			continue
		}
		_ = listener.Close()
		t.Cleanup(func() {
			_ = os.Remove(lock.Name())
			_ = lock.Close()
		})
		return listener.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

func (h *home) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	inherited := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RAGD_") })
	cmd.Env = append(inherited, asRagd+"=1", "XDG_CONFIG_HOME="+h.dir+"/config", "XDG_DATA_HOME="+h.dir+"/data",
		"RAGD_LISTEN="+h.listen, "RAGD_SERVER=http://"+h.listen, "RAGD_OFFLINE=true")
	if !slices.ContainsFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "RAGD_DATABASE_URL=") }) {
		cmd.Env = append(cmd.Env, "RAGD_MIN_FREE_BYTES=1") // a machine with little space left passes the tests
	}
	cmd.Env = append(cmd.Env, h.env...)
	return cmd
}

// ragd runs a command to its end, in this process, and returns its standard output.
func (h *home) ragd(args ...string) string {
	h.t.Helper()
	var stdout bytes.Buffer
	var stderr logtest.Buffer
	environ := h.command(h.t.Context(), args...).Env
	p := &program{
		Program: command.Program{
			Stdin: strings.NewReader(""), Out: output.Printer{Stdout: &stdout, Stderr: &stderr},
			Getenv: func(key string) string { return lookup(environ, key) },
		},
		environ: func() []string { return environ }, machine: operate.ThisMachine(),
	}
	if code := p.run(h.t.Context(), args); code != 0 {
		h.t.Fatalf("ragd %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// lookup returns the value of a variable, of which the last one counts.
func lookup(environ []string, key string) string {
	for _, variable := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(variable, key+"="); ok {
			return value
		}
	}
	return ""
}

// serve starts the service and returns when it is ready.
func (h *home) serve() *exec.Cmd {
	h.t.Helper()
	cmd := h.command(context.Background(), "serve", "--log-level", "warn")
	cmd.Stdout, cmd.Stderr = h.t.Output(), h.t.Output()
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { stop(h.t, cmd, syscall.SIGTERM) })
	h.awaitReady()
	return cmd
}

// awaitReady waits until the service is ready.
func (h *home) awaitReady() {
	h.t.Helper()
	wait.For(h.t, "the service to be ready", func() bool {
		req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "http://"+h.listen+"/readyz", nil)
		if err != nil {
			h.t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

// stop sends a signal to a service and waits for its end.
func stop(t *testing.T, cmd *exec.Cmd, signal syscall.Signal) {
	t.Helper()
	if cmd.ProcessState != nil {
		return
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); signal == syscall.SIGTERM && err != nil {
		t.Errorf("ragd serve: %v", err)
	}
}

// writeCorpus writes JSON Lines with one short document per line.
func writeCorpus(t *testing.T, path string, documents int) {
	t.Helper()
	var lines bytes.Buffer
	for i := range documents {
		fmt.Fprintf(&lines, `{"id": "doc-%d", "title": "Entry %d", "text": "Entry %d of the log says that valve %d was opened.\n\nNothing else was seen.", "metadata": {"number": %d}}`+"\n", i, i, i, i*7, i)
	}
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// needsDatabase skips the test, or fails it in CI, if there is no PostgreSQL.
func needsDatabase(t *testing.T) {
	t.Helper()
	pgtest.URL(t)
}

// A new user runs serve, ingest and query on one machine without any flag.
func TestFromNothingToAnAnswer(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	h := newHome(t)
	service := h.serve()
	corpus := filepath.Join(h.dir, "corpus.jsonl")
	writeCorpus(t, corpus, 30)
	h.ragd("ingest", "--index", "log", "--jsonl", corpus)
	var answer struct {
		Sources []struct {
			URI string `json:"uri"`
		} `json:"sources"`
	}
	out := h.ragd("query", "--json", "--index", "log", "--filter", `{"number": 12}`, "who opened valve 84")
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Sources) != 1 || answer.Sources[0].URI != "doc-12" {
		t.Errorf("answer = %s, %v", out, err)
	}
	stop(t, service, syscall.SIGTERM)
	h.serve()
	if out := h.ragd("index", "list"); !strings.Contains(out, "log") {
		t.Errorf("after a restart the indexes are %s", out)
	}
}

// Child processes of the service read files of all formats. Hostile files fail with a
// reason, and the service keeps running.
func TestFilesOfAllFormats(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	const samples = "../../internal/ingest/parse/testdata"
	h := newHome(t)
	h.serve()
	h.ragd("ingest", "--index", "files", "--base", samples+"/files", samples+"/files")
	for _, tc := range []struct{ uri, question, want string }{
		{"handbook.pdf", "what does a berth cost a night", `"pageEnd":2`},
		{"intro.pptx", "two hours, to be exact", `"slideEnd":3`},
		{"berths.xlsx", "how long is the Albatross", `"sheet":"Fees"`},
		{"plan.docx", "cost of the piles", `"section":"Harbour plan"`},
		{"archive.zip/docs/handbook.pdf", "cafés on the quay", `"pageEnd":2`},
	} {
		out := h.ragd("query", "--json", "--index", "files", "--top-k", "50", "--filter", `{"position": {"$exists": true}}`, tc.question)
		out = strings.ReplaceAll(out, `": `, `":`)
		if !strings.Contains(out, `"uri":"`+tc.uri+`"`) || !strings.Contains(out, tc.want) {
			t.Errorf("%s with %s is not in %s", tc.uri, tc.want, out)
		}
	}
	hostile := h.command(t.Context(), "ingest", "--index", "files", samples+"/hostile/encrypted.pdf", samples+"/hostile/form-bomb.pdf", samples+"/files/tides.md")
	out, err := hostile.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is an encrypted PDF file") || !strings.Contains(string(out), "form-bomb.pdf: content: ") || !strings.Contains(string(out), "1 document ready") {
		t.Errorf("%v: %s", err, out)
	}
}

// ragd is killed at several moments of an ingest. After each restart the ingest goes on,
// and in the end every document is stored once.
func TestKilledInTheMiddleOfAnIngest(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	const documents = 300
	h := newHome(t)
	service := h.serve()
	corpus := filepath.Join(h.dir, "corpus.jsonl")
	writeCorpus(t, corpus, documents)

	ingest := h.command(t.Context(), "ingest", "--index", "log", "--jsonl", corpus)
	var output bytes.Buffer
	ingest.Stdout, ingest.Stderr = &output, &output
	if err := ingest.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- ingest.Wait() }()
	for kill := range 3 {
		enough := documents / 5 * (kill + 1)
		wait.For(t, fmt.Sprint(enough, " documents"), func() bool {
			var index struct{ DocumentCount int }
			out, err := h.command(t.Context(), "index", "describe", "log", "--json").Output() // fails until the index is made
			return err == nil && json.Unmarshal(out, &index) == nil && index.DocumentCount >= enough || len(done) > 0
		})
		stop(t, service, syscall.SIGKILL)
		service = h.serve()
	}
	if err := <-done; err != nil {
		t.Fatalf("ragd ingest: %v\n%s", err, output.String())
	}
	var index struct {
		Count, DocumentCount, PendingDocumentCount, FailedDocumentCount int
	}
	out := h.ragd("index", "describe", "log", "--json")
	if err := json.Unmarshal([]byte(out), &index); err != nil {
		t.Fatal(err)
	}
	if index.DocumentCount != documents || index.Count != documents || index.PendingDocumentCount+index.FailedDocumentCount != 0 {
		t.Errorf("index = %s, want %d documents and chunks", out, documents)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(h.ragd("document", "list", "--index", "log", "--json")) {
		var d struct{ URI, Status string }
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		if seen[d.URI] || d.Status != "ready" {
			t.Errorf("document %s is listed twice, or %s", d.URI, d.Status)
		}
		seen[d.URI] = true
	}
	if len(seen) != documents {
		t.Errorf("%d documents are listed, want %d", len(seen), documents)
	}
}
