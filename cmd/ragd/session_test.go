package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// session runs command lines one after the other against one fake, in one
// configuration folder.
type session struct {
	fake  *fake
	env   map[string]string
	asks  bool
	stdin string
}

// newSession has an operator, a tenant acme and its key, as `ragd serve` leaves
// them.
func newSession(t *testing.T) *session {
	t.Helper()
	s := &session{fake: newFake(t), env: map[string]string{"XDG_CONFIG_HOME": t.TempDir()}}
	s.env["RAGD_SERVER"], s.env["RAGD_OPERATOR_KEY"] = s.fake.url, operatorSecret
	s.want(t, step{args: []string{"tenant", "create", "acme"}, stdout: anything})
	s.want(t, step{args: []string{"key", "create", "--tenant", "acme"}, stdout: anything, stderr: anything})
	delete(s.env, "RAGD_SERVER")
	delete(s.env, "RAGD_OPERATOR_KEY")
	local := clientConfig{Server: s.fake.url, Tenant: "acme", APIKey: "secret-key1", OperatorKey: operatorSecret}
	if err := local.write(filepath.Join(s.env["XDG_CONFIG_HOME"], "ragd", "client.conf")); err != nil {
		t.Fatal(err)
	}
	return s
}

// step is a command line and what it must do. In stdout and stderr, URL stands for
// the address of the fake, and a text that begins with "..." is only contained.
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
		stdin: strings.NewReader(s.stdin), stdout: &out, stderr: &errs, asks: s.asks,
		getenv: func(key string) string { return s.env[key] },
	}
	code = p.run(ctx, args)
	return code, out.String(), errs.String()
}

func (s *session) want(t *testing.T, want step) {
	t.Helper()
	code, stdout, stderr := s.run(want.args...)
	if code != want.code {
		t.Errorf("ragd %s: exit code %d, want %d", strings.Join(want.args, " "), code, want.code)
	}
	s.compare(t, want.args, "stdout", want.stdout, stdout)
	s.compare(t, want.args, "stderr", want.stderr, stderr)
}

func (s *session) compare(t *testing.T, args []string, stream, want, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, s.fake.url, "URL")
	if part, ok := strings.CutPrefix(want, anything); ok {
		if !strings.Contains(got, part) {
			t.Errorf("ragd %s: %s is\n%s\nand lacks\n%s", strings.Join(args, " "), stream, got, part)
		}
		return
	}
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Errorf("ragd %s: %s (-want +got)\n%s", strings.Join(args, " "), stream, diff)
	}
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
