package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// folder returns a folder with documents in subfolders, and files that are hidden, binary
// or refused.
func folder(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"docs/a.md": "# A", "docs/sub/b.txt": "b", "docs/.hidden": "h", "docs/c.txt": "bad", "docs/d.png": "\x89PNG\x00",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestIngestAFolder(t *testing.T) {
	t.Parallel()
	s := newSession(t, refusing(t)...)
	root := folder(t)
	docs := filepath.Join(root, "docs")
	code, stdout, stderr := s.run("ingest", docs, "--base", root)
	wantErr := "made index documents (openai/some-model, 8 dimensions)\n" +
		"skipped 1: " + docs + "/.hidden: hidden\n" +
		"skipped 1: " + docs + "/d.png: binary data of no known format, which cannot be read: send text, Markdown, HTML, PDF, an Office document, an email or an archive of these\n" +
		"failed: " + docs + "/c.txt: " + whyRefused + "\n" +
		"ragd: 1 document failed\n"
	if code != 1 || stderr != wantErr {
		t.Errorf("exit code %d and stderr\n%s\nwant\n%s", code, stderr, wantErr)
	}
	if !strings.HasPrefix(stdout, "2 documents ready in index documents: ") {
		t.Errorf("stdout %q", stdout)
	}
	s.want(t, step{args: args("document list --json"), stdout: `..."uri":"docs/sub/b.txt"`})

	// A second run has only the failed document left to upload.
	if err := os.Remove(filepath.Join(docs, "c.txt")); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{
		args:   []string{"ingest", docs, "--base", root, "--json"},
		stdout: "...\"uploaded\": 2,\n  \"unchanged\": 2,\n  \"ready\": 2,\n  \"pending\": 0,\n  \"failed\": 0,",
	})
}

func TestIngestAnExport(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	export := filepath.Join(t.TempDir(), "issues.json")
	content := `[{"number":12,"title":"Crane 3 stops","body":"It stops at 38 t.","html_url":"https://github.com/h/c/issues/12","user":{"login":"ana"},"state":"open"},{"number":"x"}]`
	if err := os.WriteFile(export, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := s.run("ingest", export)
	if code != 1 || !strings.HasPrefix(stdout, "1 document ready in index documents: ") ||
		!strings.Contains(stderr, "failed: "+export+":record 2: is no record as those of github: the field number is a string; mend or remove it\n") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	s.want(t, step{args: []string{"query", "crane", "--filter", `{"origin.status": "open"}`}, stdout: "...Crane 3 stops, issues.json/h/c/issues/12"})
	s.want(t, step{args: args("document list --json"), stdout: `..."author":"ana"`})
}

func TestIngestNamesFilesFromTheFolderGiven(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	docs := filepath.Join(folder(t), "docs")
	s.want(t, step{args: []string{"ingest", docs}, stdout: anything, stderr: anything})
	s.want(t, step{args: []string{"ingest", filepath.Join(docs, "sub", "b.txt")}, stdout: "...1 document ready"})
	s.want(t, step{args: args("document list --json"), stdout: `..."uri":"sub/b.txt"`})
	_, stdout, _ := s.run("document", "list", "--json")
	if n := strings.Count(stdout, "\n"); n != 4 || strings.Contains(stdout, `"uri":"/`) || !strings.Contains(stdout, `"uri":"b.txt"`) {
		t.Errorf("%d documents:\n%s", n, stdout)
	}
	s.want(t, step{args: []string{"ingest", docs, "--base", filepath.Join(docs, "sub")}, code: 2, stderr: "...is not below the folder"})
	s.want(t, step{args: []string{"ingest", "--sync", docs}, code: 2, stderr: "...have no prefix: give a --base above it, such as " + filepath.Dir(docs)})
	s.want(t, step{args: []string{"ingest", docs, filepath.Join(docs, "sub")}, code: 0, stdout: anything, stderr: anything})
}

func TestIngestRenamesWhatHadAbsoluteURIs(t *testing.T) {
	t.Parallel()
	s := newSession(t, refusing(t)...)
	docs := filepath.Join(folder(t), "docs")
	var lines strings.Builder
	for _, name := range []string{"a.md", "sub/b.txt", "gone.md", "c.txt"} {
		fmt.Fprintf(&lines, "{\"id\":%q,\"text\":\"old\"}\n", docs+"/"+name)
	}
	fmt.Fprintf(&lines, "{\"id\":%q,\"text\":\"old\"}\n", docs+"-other/a.md")
	s.stdin = lines.String()
	s.want(t, step{args: args("ingest --jsonl -"), stdout: anything, stderr: anything})
	s.want(t, step{args: []string{"ingest", docs, "--wait=false"}, code: 0, stdout: anything, stderr: anything})
	s.want(t, step{
		args: []string{"ingest", docs}, code: 1, stdout: "...2 documents ready",
		stderr: "...renamed 2 documents: uris are no longer absolute paths, as " + docs + "/a.md was, now a.md\n",
	})
	_, stdout, _ := s.run("document", "list", "--json")
	for uri, want := range map[string]bool{
		docs + "/a.md": false, docs + "/sub/b.txt": false, docs + "/gone.md": true, docs + "/c.txt": true, docs + "-other/a.md": true, "a.md": true, "sub/b.txt": true,
	} {
		if got := strings.Contains(stdout, `"uri":"`+uri+`"`); got != want {
			t.Errorf("%s is there: %v, want %v", uri, got, want)
		}
	}
	s.want(t, step{args: []string{"ingest", filepath.Join(docs, "a.md"), "--json"}, stdout: "...\"failed\": 0,\n  \"seconds\""})
}

func TestIngestGroupsWhatItSkips(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	root := t.TempDir()
	for _, name := range []string{"a.log", "b.log", "c.log", "d.log", "e.md"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, ".ragdignore"), []byte("*.log\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	grouped := "skipped 1: " + root + "/.ragdignore: hidden\n" +
		"skipped 4: " + root + "/a.log, " + root + "/b.log, " + root + "/c.log and 1 more: ignored by .ragdignore\n" +
		"--verbose names all that is skipped\n"
	s.want(t, step{args: []string{"ingest", root}, stdout: "...1 document ready", stderr: "made index documents (builtin/hash-512, 512 dimensions)\n" + grouped})
	s.want(t, step{args: []string{"ingest", root, "--verbose"}, stdout: anything, stderr: "...skipped: " + root + "/d.log: ignored by .ragdignore\n"})
	s.want(t, step{args: []string{"ingest", root, "--no-ignore"}, stdout: "...5 documents ready in index documents, 1 of them unchanged", stderr: anything})
}

func TestIngestOfNothingFailsAndMakesNoIndex(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	root := t.TempDir()
	const nothing = "ragd: nothing was ingested: there is no document that can be read\n"
	s.want(t, step{args: []string{"ingest", root}, code: 1, stderr: nothing})
	if err := os.WriteFile(filepath.Join(root, ".env"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{args: []string{"ingest", root}, code: 1, stderr: "skipped 1: " + root + "/.env: hidden\n" + nothing})
	s.want(t, step{args: args("index list --json"), stdout: anything})
	if _, stdout, _ := s.run("index", "list", "--json"); strings.Contains(stdout, "documents") {
		t.Errorf("an index was made: %s", stdout)
	}
	if err := os.WriteFile(filepath.Join(root, "a.png"), []byte("\x89PNG\r\n\x1a\n\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{args: []string{"ingest", root}, code: 1, stdout: anything, stderr: "..." + nothing})
}

func TestIngestSaysWhileItWaitsThatAProviderIsDown(t *testing.T) {
	t.Parallel()
	models := modelserver.New(t)
	var requests atomic.Int32
	models.Set(modelserver.Fault{Status: http.StatusServiceUnavailable, When: func(r modelserver.Request) bool {
		return strings.Contains(r.Raw, "fox") && requests.Add(1) <= 8 // two attempts
	}})
	s := newSession(t, append(providing(models), "RAGD_EMBEDDING_MODEL=openai/some-model")...)
	s.want(t, step{
		args: []string{"ingest", file(t, "a.txt", "a fox")}, stdout: "...1 document ready",
		stderr: "...not processed yet: 1 document: the embedding provider openai",
	})
}

func TestIngestWarnsOfBrokenFrontMatter(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	path := file(t, "a.md", "---\na: [1\n---\nText")
	warning := path + ": the front matter is not valid YAML: line "
	s.want(t, step{args: []string{"ingest", path}, stdout: "...1 document ready", stderr: "...warning: " + warning})
	s.want(t, step{args: []string{"ingest", path, "--json"}, stdout: "...\"warnings\": [\n    {\n      \"place\": \"" + path})
}

func TestIngestJSONLines(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.stdin = `{"id":"a","text":"one"}` + "\nnonsense\n" + `{"id":"b","text":"two"}`
	s.want(t, step{args: args("ingest --jsonl - --index notes"), code: 1, stdout: "...2 documents ready in index notes: ", stderr: `
made index notes (builtin/hash-512, 512 dimensions)
failed: stdin:2: is not valid JSON: invalid character 'o' in literal null (expecting 'u')
ragd: 1 document failed
`})
	lines := file(t, "c.jsonl", `{"id":"c","text":"three"}`)
	s.want(t, step{args: append(args("ingest --jsonl --wait=false"), lines), stdout: "...0 documents ready in index notes, 1 being processed: "})
	s.want(t, step{
		args: append(args("ingest --jsonl --index other --create=false"), lines), code: 1,
		stderr: "ragd: index \"other\" not found; `ragd index create other` makes it\n",
	})
	s.want(t, step{args: args("ingest --jsonl absent"), code: 1, stderr: "ragd: stat absent: no such file or directory\n"})
	s.want(t, step{args: append(args("ingest --concurrency 0"), lines), code: 2, stderr: "...--concurrency must be at least 1, got 0"})
}

func TestIngestStopsWhenTheKeyIsRefusedOnTheWay(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: args("key list"), stdout: "...#1"})
	operator, key := &session{tap: s.tap, env: s.env}, s.ids[0]
	var uploads atomic.Int32
	s.before = func(procedure string) {
		if procedure == "UploadDocuments" && uploads.Add(1) == 2 {
			operator.want(t, step{args: []string{"key", "revoke", key}, stdout: anything})
		}
	}
	s.stdin = strings.Repeat(`{"id":"a","text":"one"}`+"\n", 1500)
	s.want(t, step{args: args("ingest --jsonl - --concurrency 1"), code: 1, stdout: anything, stderr: `
made index documents (builtin/hash-512, 512 dimensions)
what is uploaded is safe; the same command again goes on from here
ragd: URL refused the key from client.conf: it is wrong, was revoked, has expired, or belongs to another service; ` + "`ragd key create`" + ` makes a key, RAGD_API_KEY sets it
`})
}

func TestSyncAFolder(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	root := folder(t)
	docs := filepath.Join(root, "docs")
	if err := os.Remove(filepath.Join(docs, "c.txt")); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{args: append(args("ingest --base"), root, docs), stdout: anything, stderr: anything})
	if err := os.Rename(filepath.Join(docs, "a.md"), filepath.Join(docs, "e.md")); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{args: append(args("ingest --sync --dry-run --base"), root, docs), stdout: `
new      docs/e.md
gone     docs/a.md
would upload 1 new and 0 changed documents to index documents, delete 1 and leave 1
`})
	s.want(t, step{args: append(args("ingest --sync --base"), root, docs), stdout: "...\n1 new, 0 changed, 1 unchanged, 1 deleted\n", stderr: anything})
	s.want(t, step{args: append(args("ingest --sync --dry-run --json --base"), root, docs), stdout: `..."unchanged": 2`})
	if err := os.WriteFile(filepath.Join(docs, "e.md"), []byte("\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{args: append(args("ingest --sync --base"), root, docs), stdout: "...\n0 new, 0 changed, 1 unchanged, 0 deleted\n", stderr: "...kept, though its file cannot be read any more: docs/e.md"})
	lines := file(t, "c.jsonl", "{\"id\":\"docs/new\",\"text\":\"one\"}\n{broken")
	s.want(t, step{args: append(args("ingest --sync --prefix docs/ --jsonl"), lines), code: 1, stdout: "...\n1 new, 0 changed, 0 unchanged, 0 deleted\n", stderr: "...nothing is deleted, as 1 document could not be read"})
	s.want(t, step{args: append(args("ingest --sync --base"), root, root), code: 2, stdout: anything, stderr: "...have no prefix: give a --base above it"})
	s.want(t, step{args: args("ingest --dry-run ."), code: 2, stderr: "...need --sync"})
	s.want(t, step{args: args("ingest --sync --jsonl -"), code: 2, stderr: "...twice"})
}

func TestSyncWithMetadataUploadsOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	root := folder(t)
	sync := func(metadata string) []string {
		return append(args("ingest --sync --base"), root, filepath.Join(root, "docs"), "--metadata", metadata)
	}
	s.want(t, step{args: sync(`{"team": "legal", "tags": ["a", "b"], "year": 2024}`), stdout: "...\n3 new, 0 changed, 0 unchanged, 0 deleted\n", stderr: anything})
	s.want(t, step{args: sync(`{"year": 2024.0, "tags": ["a", "b"], "team": "legal"}`), stdout: "...\n0 new, 0 changed, 3 unchanged, 0 deleted\n", stderr: anything})
	if err := os.WriteFile(filepath.Join(root, "docs", "a.md"), []byte("# B"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{args: sync(`{"year": 2024, "tags": ["a", "b"], "team": "legal"}`), stdout: "...\n0 new, 1 changed, 2 unchanged, 0 deleted\n", stderr: anything})
}

func TestSyncOfWhatIsUnchangedUploadsNothing(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	sync := append(args("ingest --sync --whole-index --jsonl"), file(t, "c.jsonl", `{"id":"a","text":"one"}`+"\n"+`{"id":"b","text":"two"}`))
	s.want(t, step{args: sync, stdout: "...\n2 new, 0 changed, 0 unchanged, 0 deleted\n", stderr: anything})
	s.before = func(procedure string) {
		if strings.HasPrefix(procedure, "Upload") {
			t.Errorf("%s was called", procedure)
		}
	}
	s.want(t, step{args: sync, stdout: "...\n0 new, 0 changed, 2 unchanged, 0 deleted\n"})
}

func TestIngestSendsOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	var uploads atomic.Int32
	s.before = func(procedure string) {
		if strings.HasPrefix(procedure, "Upload") {
			uploads.Add(1)
		}
	}
	first := `{"id":"a","text":"one","title":"First"}`
	both := file(t, "c.jsonl", first+"\n"+`{"id":"b","text":"two"}`)
	s.want(t, step{args: append(args("ingest --jsonl"), both), stdout: anything, stderr: anything})
	uploads.Store(0)
	s.want(t, step{args: append(args("ingest --jsonl"), both), stdout: anything})
	if n := uploads.Load(); n != 0 {
		t.Errorf("%d uploads of what is unchanged", n)
	}
	for name, args := range map[string][]string{
		"text":         {file(t, "c.jsonl", `{"id":"a","text":"one more","title":"First"}`)},
		"title":        {file(t, "c.jsonl", `{"id":"a","text":"one","title":"Second"}`)},
		"content type": {file(t, "c.jsonl", `{"id":"a","text":"one","title":"First","contentType":"text/markdown"}`)},
		"own metadata": {file(t, "c.jsonl", `{"id":"a","text":"one","title":"First","metadata":{"year":2024}}`)},
		"metadata":     {file(t, "c.jsonl", first), "--metadata", `{"year":2023}`},
		"chunking":     {file(t, "c.jsonl", first), "--strategy", "sentence"},
		"namespace":    {file(t, "c.jsonl", first), "--namespace", "eu"},
	} {
		uploads.Store(0)
		s.want(t, step{args: append([]string{"ingest", "--jsonl"}, args...), stdout: anything, stderr: anything})
		if uploads.Load() == 0 {
			t.Errorf("another %s: nothing was uploaded", name)
		}
	}
}

func TestIngestEndsCleanlyWhenInterrupted(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var uploads atomic.Int32
	s.before = func(procedure string) {
		if procedure == "UploadDocuments" && uploads.Add(1) == 2 {
			cancel()
		}
	}
	s.stdin = strings.Repeat(`{"id":"a","text":"one"}`+"\n", 100000)
	code, _, stderr := s.runIn(ctx, args("ingest --jsonl - --concurrency 1")...)
	want := "the same command again goes on from here\nragd: interrupted\n"
	if code != exitInterrupted || !strings.HasSuffix(stderr, want) {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
}

func TestIngestShowsABarOnATerminal(t *testing.T) {
	t.Parallel()
	s := newSession(t, refusing(t)...)
	var out, errs bytes.Buffer
	p := &program{
		Program: command.Program{
			Stdin: strings.NewReader(""), Out: output.Printer{Stdout: &out, Stderr: &errs}, StderrTerminal: true,
			Getenv: func(key string) string { return s.env[key] },
		},
		environ: variables(s.env),
	}
	if code := p.run(t.Context(), []string{"ingest", folder(t)}); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(errs.String(), "uploading") || !strings.Contains(errs.String(), "processing") {
		t.Errorf("no bar in %q", errs.String())
	}
}

func TestIngestExtracts(t *testing.T) {
	t.Parallel()
	models := modelserver.New(t)
	models.Set(modelserver.Fault{Status: http.StatusBadRequest, When: func(r modelserver.Request) bool { return strings.Contains(r.Raw, "summary") }})
	s := newSession(t, providing(models)...)
	path := file(t, "a.txt", "a fox")
	s.want(t, step{
		args:   []string{"ingest", path, "--extract", `{"model": "openai/some-model", "title": true, "summary": true}`},
		stdout: "...\nextraction: 7 calls, 97 tokens in, 1 out, 1 failed\n", stderr: "...its job says: ragd job get #1\n",
	})
	s.want(t, step{args: []string{"ingest", path, "--extract", "title"}, code: 2, stderr: "...this is not valid JSON: line 1"})
}
