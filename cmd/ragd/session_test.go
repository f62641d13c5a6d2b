package main

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/internal/testing/modelserver"
	"github.com/ragdhq/ragd/internal/testing/pgtest"
)

const operatorSecret = "operator-secret"

// made stands for every time in what is printed.
const made = "2026-11-21T08:00:00Z"

// session runs command lines one after the other in one configuration folder,
// through a tap.
type session struct {
	*tap
	env         map[string]string
	interactive bool
	stdin       string
	ids         []string // in the order in which they came up
}

// newSession has a service on a database of its own, an operator, a tenant acme and
// its key in client.conf. environment is the service's, as NAME=value.
func newSession(t *testing.T, environment ...string) *session {
	t.Helper()
	s := &session{tap: newTap(t, startService(t, environment)), env: map[string]string{"XDG_CONFIG_HOME": t.TempDir()}}
	s.env["RAGD_SERVER"], s.env["RAGD_OPERATOR_KEY"] = s.url, operatorSecret
	s.want(t, step{args: args("tenant create acme"), stdout: anything})
	code, stdout, stderr := s.run(args("key create --tenant acme --scopes admin")...)
	_, secret, ok := strings.Cut(stdout, "secret  ")
	if code != 0 || !ok {
		t.Fatalf("no key was made: %s%s", stdout, stderr)
	}
	s.ids = nil
	s.configure(t, strings.TrimSpace(secret))
	return s
}

// newLonelySession has a client.conf, but there is no service.
func newLonelySession(t *testing.T) *session {
	t.Helper()
	s := &session{tap: newTap(t, ""), env: map[string]string{"XDG_CONFIG_HOME": t.TempDir()}}
	s.configure(t, "tenant-secret")
	return s
}

func (s *session) configure(t *testing.T, secret string) {
	t.Helper()
	delete(s.env, "RAGD_SERVER")
	delete(s.env, "RAGD_OPERATOR_KEY")
	local := config.Client{Server: s.url, Tenant: "acme", APIKey: secret, OperatorKey: operatorSecret}
	if err := local.Write(filepath.Join(s.env["XDG_CONFIG_HOME"], "ragd", "client.conf")); err != nil {
		t.Fatal(err)
	}
}

// startService runs `ragd serve` until the test ends and returns its address.
func startService(t *testing.T, environment []string) string {
	t.Helper()
	env := map[string]string{
		"RAGD_DATABASE_URL": pgtest.URL(t), "RAGD_OPERATOR_KEY": operatorSecret, "RAGD_LOG_LEVEL": "error",
		"XDG_CONFIG_HOME": t.TempDir(), "XDG_DATA_HOME": t.TempDir(),
	}
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	ready := &announcement{prefix: "ragd is ready at ", text: make(chan string, 1)}
	p := &program{
		stdin: strings.NewReader(""), out: output.Printer{Stdout: t.Output(), Stderr: ready},
		getenv: func(key string) string { return env[key] },
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	go func() { done <- p.run(ctx, args("serve --listen 127.0.0.1:0")) }()
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != 0 {
			t.Errorf("ragd serve: exit code %d", code)
		}
	})
	select {
	case address := <-ready.text:
		return address
	case code := <-done:
		done <- code
		t.Fatalf("ragd serve ended at once: exit code %d", code)
	case <-time.After(time.Minute):
		t.Fatal("ragd serve is not ready after a minute")
	}
	return ""
}

// providing is the environment of a service whose models are these.
func providing(models *modelserver.Server) []string {
	return []string{"RAGD_OPENAI_BASE_URL=" + models.URL + "/v1", "RAGD_OPENAI_API_KEY=" + modelserver.Key}
}

// refusing is the environment of a service whose embedding model refuses texts with
// the word bad.
func refusing(t *testing.T) []string {
	models := modelserver.New(t)
	models.Set(modelserver.Fault{Status: http.StatusBadRequest, When: func(r modelserver.Request) bool { return strings.Contains(r.Raw, "bad") }})
	return append(providing(models), "RAGD_EMBEDDING_MODEL=openai/some-model")
}

// whyRefused is the error of such a text, if it is bad and no more.
const whyRefused = "texts: the embedding provider refused text 0 (3 bytes, some 2 tokens); it may be longer than the model " +
	"some-model can read, or the model may not make embeddings, or not of this dimension"

// announcement waits for a line that begins like this, and lets the others go.
type announcement struct {
	prefix string
	text   chan string
}

// Write implements io.Writer. Lines come whole.
func (a *announcement) Write(line []byte) (int, error) {
	if text, ok := strings.CutPrefix(string(line), a.prefix); ok {
		a.text <- strings.TrimSpace(text)
	}
	return len(line), nil
}

// step is a command line and what it must do. In stdout and stderr, URL stands for
// the address of the service, made for a time, #1 for the first id that came up in
// this session, also in the arguments; with these, columns are two spaces apart. A text
// that begins with "..." is only contained.
type step struct {
	args           []string
	code           int
	stdout, stderr string
}

const anything = "..."

func (s *session) run(args ...string) (code int, stdout, stderr string) {
	return s.runIn(context.Background(), args...)
}

func (s *session) runIn(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	p := &program{
		stdin: strings.NewReader(s.stdin), out: output.Printer{Stdout: &out, Stderr: &errs}, interactive: s.interactive,
		getenv: func(key string) string { return s.env[key] },
	}
	args = slices.Clone(args)
	for i, id := range s.ids {
		if at := slices.Index(args, "#"+strconv.Itoa(i+1)); at >= 0 {
			args[at] = id
		}
	}
	code = p.run(ctx, args)
	return code, out.String(), errs.String()
}

func (s *session) want(t *testing.T, want step) {
	t.Helper()
	code, stdout, stderr := s.run(want.args...)
	if code != want.code {
		t.Errorf("ragd %s: exit code %d, want %d: %s", strings.Join(want.args, " "), code, want.code, stderr)
	}
	s.compare(t, want.args, "stdout", want.stdout, stdout)
	s.compare(t, want.args, "stderr", want.stderr, stderr)
}

func (s *session) compare(t *testing.T, args []string, stream, want, got string) {
	t.Helper()
	got = s.settled(got)
	if part, ok := strings.CutPrefix(want, anything); ok {
		if !strings.Contains(got, part) {
			t.Errorf("ragd %s: %s is\n%s\nand lacks\n%s", strings.Join(args, " "), stream, got, part)
		}
		return
	}
	if diff := gocmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Errorf("ragd %s: %s (-want +got)\n%s", strings.Join(args, " "), stream, diff)
	}
}

var (
	ids     = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|ragd_([a-z2-7]{12})`) // of keys in their prefix
	secrets = regexp.MustCompile(`ragd_#(\d+)_[\w-]+`)
	times   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	gaps    = regexp.MustCompile(` {3,}`)
	ends    = regexp.MustCompile(`(?m) +$`)
)

// settled puts what is the same in every run for what is not. Columns are as wide
// as ids are, so their gaps are narrowed too.
func (s *session) settled(output string) string {
	output = strings.ReplaceAll(output, s.url, "URL")
	output = times.ReplaceAllString(output, made)
	found := ids.FindAllStringSubmatch(output, -1)
	for _, match := range found {
		if id := cmp.Or(match[1], match[0]); !slices.Contains(s.ids, id) {
			s.ids = append(s.ids, id)
		}
	}
	settled := output
	for i, id := range s.ids {
		settled = strings.ReplaceAll(settled, id, "#"+strconv.Itoa(i+1))
	}
	if settled == output {
		return output
	}
	settled = secrets.ReplaceAllString(settled, "SECRET#$1")
	return ends.ReplaceAllString(gaps.ReplaceAllString(settled, "  "), "")
}

func args(line string) []string { return strings.Fields(line) }

// file writes a file into a fresh folder and returns its path.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
