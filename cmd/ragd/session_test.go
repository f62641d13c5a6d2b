package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
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

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/operate"
	"github.com/ragdhq/ragd/internal/service/testing/logtest"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
)

const operatorSecret = "operator-secret"

// anyTime replaces every time in the output.
const anyTime = "2026-11-21T08:00:00Z"

// session runs command lines one after the other with one configuration folder, through
// a tap.
type session struct {
	*tap
	env         map[string]string
	interactive bool
	stdin       string
	install     func(context.Context, io.Writer) error // see program.install
	ids         []string                               // in the order of their first appearance in the output
}

// newSession returns a session with a service on its own database, an operator key, a
// tenant acme and its admin key in client.conf. environment is that of the service, as
// NAME=value.
func newSession(t *testing.T, environment ...string) *session {
	t.Helper()
	s := &session{tap: newTap(t, startService(t, environment)), env: map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "XDG_DATA_HOME": t.TempDir()}}
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

// newOfflineSession returns a session with a client.conf but without a service.
func newOfflineSession(t *testing.T) *session {
	t.Helper()
	s := &session{tap: newTap(t, ""), env: map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "XDG_DATA_HOME": t.TempDir()}}
	s.configure(t, "tenant-secret")
	return s
}

// configure writes client.conf with the secret as the API key.
func (s *session) configure(t *testing.T, secret string) {
	t.Helper()
	delete(s.env, "RAGD_SERVER")
	delete(s.env, "RAGD_OPERATOR_KEY")
	local := config.Client{DataDir: "/data", Server: s.url, Tenant: "acme", APIKey: secret, OperatorKey: operatorSecret}
	if err := local.Write(filepath.Join(s.env["XDG_CONFIG_HOME"], "ragd", "client.conf")); err != nil {
		t.Fatal(err)
	}
}

// configureAt writes client.conf with the address of a service.
func (s *session) configureAt(t *testing.T, address string) {
	t.Helper()
	s.url = address
	s.configure(t, "tenant-secret")
}

// startService runs `ragd serve` until the test ends and returns its address.
func startService(t *testing.T, environment []string) string {
	t.Helper()
	env := map[string]string{
		"RAGD_DATABASE_URL": schematest.Pool(t).Config().ConnString(), "RAGD_OPERATOR_KEY": operatorSecret, "RAGD_LOG_LEVEL": "error",
		"XDG_CONFIG_HOME": t.TempDir(), "XDG_DATA_HOME": t.TempDir(),
	}
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	ready := logtest.NewAnnouncement(t.Output())
	p := &program{
		Program: command.Program{
			Stdin: strings.NewReader(""), Out: output.Printer{Stdout: t.Output(), Stderr: ready},
			Getenv: func(key string) string { return env[key] },
		},
		environ: variables(env),
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
	case address := <-ready.Address():
		return address
	case code := <-done:
		done <- code
		t.Fatalf("ragd serve ended at once: exit code %d", code)
	case <-time.After(time.Minute):
		t.Fatal("ragd serve is not ready after a minute")
	}
	return ""
}

// providing returns the environment of a service that uses these models.
func providing(models *modelserver.Server) []string {
	return []string{"RAGD_OPENAI_BASE_URL=" + models.URL + "/v1", "RAGD_OPENAI_API_KEY=" + modelserver.Key, "RAGD_OPENAI_MODELS=*"}
}

// refusing returns the environment of a service whose embedding model refuses texts that
// contain "bad".
func refusing(t *testing.T) []string {
	models := modelserver.New(t)
	models.Set(modelserver.Fault{Status: http.StatusBadRequest, When: func(r modelserver.Request) bool { return strings.Contains(r.Raw, "bad") }})
	return append(providing(models), "RAGD_EMBEDDING_MODEL=openai/some-model")
}

// whyRefused is the error of the text "bad" with the environment of refusing.
const whyRefused = "texts: the embedding provider refused text 0 (3 bytes, some 2 tokens); it may be longer than the model " +
	"some-model can read, or the model may not make embeddings, or not of this dimension"

// step is a command line and its expected result. In stdout and stderr, URL stands for the
// address of the service, anyTime for a time, and #1 for the first id that appeared in
// this session, also in the arguments; columns are then two spaces apart. If the text
// begins with "..." the output must only contain the rest.
type step struct {
	args           []string
	code           int
	stdout, stderr string
}

const anything = "..."

// run runs a command line.
func (s *session) run(args ...string) (code int, stdout, stderr string) {
	return s.runIn(context.Background(), args...)
}

// runIn runs a command line until ctx ends.
func (s *session) runIn(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out bytes.Buffer
	var errs logtest.Buffer // the log is written at the same time as notes
	p := &program{
		Program: command.Program{
			Stdin: strings.NewReader(s.stdin), Out: output.Printer{Stdout: &out, Stderr: &errs}, Interactive: s.interactive,
			Getenv: func(key string) string { return s.env[key] },
		},
		environ: variables(s.env), machine: operate.Machine{Install: s.install},
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

// variables returns a function that lists an environment as os.Environ does.
func variables(env map[string]string) func() []string {
	return func() []string {
		var list []string
		for name, value := range env {
			list = append(list, name+"="+value)
		}
		return list
	}
}

// want runs a step and fails the test if the result differs.
func (s *session) want(t *testing.T, want step) {
	t.Helper()
	code, stdout, stderr := s.run(want.args...)
	if code != want.code {
		t.Errorf("ragd %s: exit code %d, want %d: %s", strings.Join(want.args, " "), code, want.code, stderr)
	}
	s.compare(t, want.args, "stdout", want.stdout, stdout)
	s.compare(t, want.args, "stderr", want.stderr, stderr)
}

// compare fails the test if the output of a stream differs from want, see step.
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
	slow    = regexp.MustCompile(`(?m)^(?:uploading|processing): .*\n`)
)

// settled replaces the parts of output that differ between runs: the address, times and
// ids, and removes the progress that is shown where a machine is slow. As ids change the width of columns, it also narrows the gaps between columns.
func (s *session) settled(output string) string {
	output = strings.ReplaceAll(output, s.url, "URL")
	output = slow.ReplaceAllString(times.ReplaceAllString(output, anyTime), "")
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

// args splits a command line at spaces.
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
