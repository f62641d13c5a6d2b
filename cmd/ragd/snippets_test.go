package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// A snippet is a fenced block of a page. Comments in front of it say how it is tested:
//
//	<!-- setup: ragd tenant create acme -->   a command that readers need not see
//	<!-- not run: needs root -->              its syntax is checked only
//	<!-- message: VectorQueryRequest -->      the JSON is a message of the API
//	<!-- output -->                           the commands before print these lines, where ... is any text
//	<!-- model: How long? | Two years. -->    what the chat model says, see docModel
type snippet struct {
	line    int // of the opening fence, from 1
	lang    string
	code    string
	notRun  bool
	output  bool
	message string
}

var (
	fenceOpening   = regexp.MustCompile("^( *)```([a-z]*)$")
	snippetComment = regexp.MustCompile(`^ *<!-- (setup|not run|message|model|output)(?:: (.+))? -->$`)
	placeholder    = regexp.MustCompile(`(?m)^export \w+=\.\.\..*$`)
)

// snippetsOf returns the fenced blocks of a page, and its setup commands as blocks.
func snippetsOf(text string) []snippet {
	var found []snippet
	var next snippet
	var open *snippet
	indent := ""
	for i, line := range strings.Split(text, "\n") {
		if open != nil {
			if strings.TrimPrefix(line, indent) == "```" {
				found, open = append(found, *open), nil
				continue
			}
			open.code += strings.TrimPrefix(line, indent) + "\n"
			continue
		}
		if m := snippetComment.FindStringSubmatch(line); m != nil {
			switch m[1] {
			case "setup":
				found = append(found, snippet{line: i + 1, lang: "sh", code: m[2] + "\n"})
			case "not run":
				next.notRun = true
			case "output":
				next.output = true
			case "model":
				found = append(found, snippet{line: i + 1, lang: "model", code: m[2]})
			case "message":
				next.message = m[2]
			}
		} else if m := fenceOpening.FindStringSubmatch(line); m != nil {
			indent = m[1]
			next.line, next.lang = i+1, m[2]
			block := next
			open, next = &block, snippet{}
		}
	}
	return found
}

// documentedPages returns the pages whose snippets are tested, relative to the root of the
// repository.
func documentedPages(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md", "CONTRIBUTING.md", "examples/README.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			pages = append(pages, strings.TrimPrefix(path, "../../"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// TestSnippetsOfTheDocumentationRun runs the commands and programs of each page in the
// order of the page, with a tenant and a folder of the page's own, against one running
// service. Snippets marked as not run are checked for syntax.
func TestSnippetsOfTheDocumentationRun(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	model := newDocModel(t)
	h := newHome(t, "RAGD_OPERATOR_KEY=operator-key-of-the-documentation", "RAGD_OPENAI_BASE_URL="+model.url, "RAGD_OPENAI_API_KEY="+modelserver.Key)
	h.serve()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for i, page := range documentedPages(t) {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		snippets := snippetsOf(string(text))
		if len(snippets) == 0 {
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			r := &reader{home: h, tenant: fmt.Sprintf("page-%d", i), dir: t.TempDir(), root: root, page: page, model: model}
			r.read(t, snippets)
		})
	}
}

// reader does what a page says, in a folder and with a tenant of its own.
type reader struct {
	home              *home
	tenant, dir, root string
	page              string
	env               []string
	script            strings.Builder
	model             *docModel
	outputs           []snippet // what commands print
	before            string    // where the commands before are
}

// read tests the snippets of a page.
func (r *reader) read(t *testing.T, snippets []snippet) {
	t.Helper()
	r.script.WriteString("set -eo pipefail\n")
	run := false
	for _, s := range snippets {
		where := fmt.Sprintf("%s:%d", r.page, s.line)
		switch {
		case s.output:
			s.code = fmt.Sprintf("%s\n%s", r.before, s.code)
			r.outputs = append(r.outputs, s)
		case s.lang == "model":
			r.model.add(t, where, s.code)
		case s.lang == "json":
			checkJSON(t, where, s)
		case s.lang == "sh" && s.notRun:
			checkSyntax(t, where, s, "bash", "-n")
		case s.lang == "sh":
			run = true
			r.at(where)
			r.script.WriteString(placeholder.ReplaceAllString(s.code, ""))
		case s.lang == "python":
			r.program(t, s, where, "python3", ".py", "-m", "py_compile")
			run = run || !s.notRun
		case s.lang == "ts":
			r.program(t, s, where, "node", ".mjs", "--check")
			run = run || !s.notRun
		}
	}
	if run {
		r.run(t)
	}
}

// program checks the syntax of a program, and adds it to the script unless it is not run.
func (r *reader) program(t *testing.T, s snippet, where, interpreter, suffix string, check ...string) {
	t.Helper()
	if _, err := exec.LookPath(interpreter); err != nil {
		t.Logf("%s: %s is not installed", where, interpreter)
		return
	}
	name := fmt.Sprintf("snippet%d%s", s.line, suffix)
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(r.local(s.code)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), interpreter, append(check, name)...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", where, err, out)
	}
	if !s.notRun {
		r.at(where)
		fmt.Fprintf(&r.script, "%s %s\n", interpreter, name)
	}
}

// at prints the position of the commands that follow, so that their output can be found.
func (r *reader) at(where string) {
	r.before = where
	fmt.Fprintf(&r.script, "at=%s\necho \"at $at\"\n", where)
}

// columns matches the spaces between the columns of a table.
var columns = regexp.MustCompile("  +")

// checkOutputs compares what the commands have printed with what the page says.
func (r *reader) checkOutputs(t *testing.T, printed string) {
	t.Helper()
	for _, s := range r.outputs {
		where, want, _ := strings.Cut(s.code, "\n")
		_, got, _ := strings.Cut(printed, "at "+where+"\n")
		got, _, _ = strings.Cut(got, "\nat "+r.page+":")
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), `\.\.\.`, ".*")
		pattern = columns.ReplaceAllString(pattern, "  +") // as wide as the longest value, such as a time
		if !regexp.MustCompile(pattern).MatchString(got) {
			t.Errorf("%s:%d: the page says\n%s\nand the commands at %s print\n%s", r.page, s.line, want, where, got)
		}
	}
}

// local replaces the address in a snippet by that of the service under test.
func (r *reader) local(code string) string {
	return strings.ReplaceAll(code, "127.0.0.1:8484", r.home.listen)
}

// run runs the script of a page.
func (r *reader) run(t *testing.T) {
	t.Helper()
	r.prepare(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	script := "trap 'code=$?; [ $code = 0 ] || echo \"$at failed with $code\"' EXIT\n" + r.local(r.script.String())
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env = r.dir, r.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", r.page, err, out.String())
	}
	if testing.Verbose() {
		t.Log(out.String())
	}
	r.checkOutputs(t, out.String())
}

// prepare makes the page's tenant and folder: what a reader who has cloned the repository
// and started the service has, and a folder handbook with documents.
func (r *reader) prepare(t *testing.T) {
	t.Helper()
	r.home.ragd("tenant", "create", r.tenant)
	var key struct{ Secret string }
	if err := json.Unmarshal([]byte(r.home.ragd("key", "create", "--tenant", r.tenant, "--scopes", "admin", "--json")), &key); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(r.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	program := fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", asRagd, os.Args[0])
	if err := os.WriteFile(filepath.Join(bin, "ragd"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"docs": "docs", "examples": "examples", "README.md": "README.md", "handbook": "examples/handbook",
	} {
		copyTree(t, filepath.Join(r.root, target), filepath.Join(r.dir, link))
	}
	for _, variable := range r.home.command(t.Context()).Env {
		if name, _, _ := strings.Cut(variable, "="); name != "PATH" && name != asRagd {
			r.env = append(r.env, variable)
		}
	}
	r.env = append(r.env, "PATH="+bin+":"+os.Getenv("PATH"), "RAGD_API_KEY="+key.Secret, "KEY="+key.Secret, "PYTHONDONTWRITEBYTECODE=1")
}

// copyTree copies a file or a folder.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else {
		var content []byte
		if content, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(to, content, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkSyntax passes a snippet to a program that checks it.
func checkSyntax(t *testing.T, where string, s snippet, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = strings.NewReader(s.code)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", where, err, out)
	}
}

// checkJSON checks that a snippet is JSON: one value, or one a line. With a message each
// value must be one.
func checkJSON(t *testing.T, where string, s snippet) {
	t.Helper()
	var message protoreflect.MessageType
	if s.message != "" {
		var err error
		if message, err = protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName("ragd.v1." + s.message)); err != nil {
			t.Errorf("%s: %s: %v", where, s.message, err)
			return
		}
	}
	for values := json.NewDecoder(strings.NewReader(s.code)); values.More(); {
		var value json.RawMessage
		if err := values.Decode(&value); err != nil {
			t.Errorf("%s: %v", where, err)
			return
		}
		if message == nil {
			continue
		}
		if err := protojson.Unmarshal(value, message.New().Interface()); err != nil {
			t.Errorf("%s: not a %s: %v", where, s.message, err)
		}
	}
}
