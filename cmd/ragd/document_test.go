package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
)

func TestDocumentAndJobCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t, refusing(t)...)
	s.want(t, step{args: args("document list"), code: 1, stderr: "ragd: there is no index yet: `ragd ingest` or `ragd index create` makes one\n"})
	s.want(t, step{args: args("index create documents"), stdout: anything})
	for _, line := range []string{`{"id":"a","title":"A","text":"one","metadata":{"n":1}}`, `{"id":"b","text":"bad"}`} {
		s.stdin = line
		code, _, _ := s.run(args("ingest --jsonl -")...)
		if failed := strings.Contains(line, "bad"); failed != (code != 0) {
			t.Fatalf("ingest of %s: exit code %d", line, code)
		}
	}
	for _, want := range []step{
		{args: args("document list"), stdout: `
DOCUMENT  URI  STATUS  CHUNKS  BYTES  UPDATED
#1  a  ready  1  3  2026-11-21T08:00:00Z
#2  b  failed  0  3  2026-11-21T08:00:00Z
`},
		{args: args("document get #1 --index documents"), stdout: `
document  #1
index  documents
namespace  default
uri  a
title  A
status  ready
type  text/plain
bytes  3
chunks  1
version  1
metadata  {"n":1}
created  2026-11-21T08:00:00Z
updated  2026-11-21T08:00:00Z
`},
		{args: args("document get --uri b"), stdout: "...error  " + whyRefused + "\n"},
		{args: args("document get"), code: 2, stderr: "ragd document get: DOCUMENT is missing, as in: ragd document get 01hx3e8g --index handbook (see `ragd document get --help`)\n"},
		{args: args("document get #1 --uri b"), code: 2, stderr: "...unexpected argument \"#1\""},
		{args: args("document chunks --uri a"), stdout: "#0  bytes 0-3  {\"n\":1,\"position\":{\"line\":1}}\n   one\n\n"},
		{args: args("document chunks #1 --json"), stdout: `..."text":"one"`},
		{args: args("document download #1"), stdout: "one"},
		{args: args("document download --uri a --text"), stdout: "one"},
		{args: args("document download --uri a --text --max-tokens 512 --start-byte 1"), stdout: "ne", stderr: "1 of 512 tokens (cl100k_base)\n"},
		{args: args("document download --uri a --max-tokens 512"), code: 2, stderr: "...--start-byte, --max-tokens and --encoding are for the text: give --text, too"},
		{args: args("document download --uri b"), stdout: "bad"},
		{args: args("document download --uri b --text"), code: 1, stderr: "ragd: the document could not be read: " + whyRefused + "\n"},
		{args: args("document download --uri c"), code: 1, stderr: "ragd: document with uri \"c\" not found\n"},
		{args: args("document delete #1 --yes"), stdout: "deleted document #1 (a)\n"},
		{args: args("document delete #1 --yes"), code: 1, stderr: "ragd: document \"#1\" not found\n"},
		{args: args("job list"), stdout: `
JOB  KIND  STATUS  PROGRESS  INDEX  DOCUMENT  CREATED  ERROR
#3  ingest  failed  documents  #2  2026-11-21T08:00:00Z  ` + whyRefused + `
#4  ingest  succeeded  1 of 1 chunks  documents  #1  2026-11-21T08:00:00Z
`},
		{args: args("job list --status failed --json"), stdout: `...{"jobId":"#3",`},
		{args: args("job get #3"), stdout: "...error  " + whyRefused + "\n"},
		{args: args("job watch #4"), stdout: "succeeded 1 of 1 chunks\n"},
		{args: args("job watch #3"), code: 1, stdout: anything, stderr: "ragd: job #3 ended as failed: " + whyRefused + "\n"},
		{args: args("job cancel #4"), code: 1, stderr: "ragd: job \"#4\" has ended as succeeded: there is nothing to cancel\n"},
		{args: args("job retry #3"), stdout: "...kind  ingest\nstatus  "}, // queued, or ended already
		{args: args("job watch job9"), code: 1, stderr: "ragd: job \"job9\" not found: this is not the id of a job, which has 36 characters; list the jobs to see them\n"},
	} {
		s.want(t, want)
	}
	s.want(t, step{args: args("index create second"), stdout: anything})
	s.want(t, step{args: args("document list"), code: 2, stderr: "...--index is missing and there are several: documents, second"})
}

func TestDocumentDeleteOfMany(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for _, line := range []string{
		`{"id":"a","text":"one","metadata":{"n":1}}`, `{"id":"b","text":"two","metadata":{"n":1}}`, `{"id":"c","text":"three","metadata":{"n":2}}`,
	} {
		s.stdin = line
		s.want(t, step{args: args("ingest --jsonl -"), stdout: anything, stderr: anything})
	}
	s.stdin = `{"id":"c","text":"of Rosa"}`
	s.want(t, step{args: args("ingest --jsonl - --namespace rosa"), stdout: anything, stderr: anything})
	for _, want := range []step{
		{args: args("document delete"), code: 2, stderr: "ragd document delete: DOCUMENT, --uri, --filter, --prefix or --namespace is missing (see `ragd document delete --help`)\n"},
		{args: args("document delete x --uri a"), code: 2, stderr: "...DOCUMENT, --uri, and --filter or --prefix exclude each other"},
		{args: args(`document delete --filter {"n":1} --dry-run`), stdout: "#1  a\n#2  b\nwould delete 2 documents of index documents\n"},
		{args: args(`document delete --filter {"n":1} --dry-run --json`), stdout: "...\"deletedCount\": 2"},
		{args: args(`document delete --filter {"n":1}`), code: 2, stderr: "...needs --yes where nobody can be asked"},
		{args: args(`document delete --filter {"n":3} --yes`), stdout: "no document of index documents is selected\n"},
		{args: args("document delete #1 #1x --yes"), stdout: "deleted document #1 (a)\n", stderr: "not found: #1x\n"},
		{args: args("document delete #1 #1x --yes"), code: 1, stderr: "not found: #1\nnot found: #1x\nragd: none of the documents was found\n"},
		{args: args("document delete --uri a --yes"), code: 1, stderr: "ragd: document \"a\" not found\n"},
	} {
		s.want(t, want)
	}
	const question = "This deletes 2 documents of index documents, such as b, c. Type \"yes\" to go on: "
	s.interactive, s.stdin = true, "no\n"
	s.want(t, step{args: args("document delete --uri b --uri c"), code: 1, stderr: question + "ragd: nothing was deleted\n"})
	s.stdin = "yes\n"
	s.want(t, step{args: args("document delete --uri b --uri c"), stdout: "deleted 2 documents of index documents\n", stderr: question})
	s.want(t, step{args: args("document delete --namespace rosa"), stdout: "deleted document #3 (c)\n", stderr: "This deletes document #3 (c). Type \"yes\" to go on:"})
}

func TestDocumentsAreListedAndDeletedByPrefix(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.stdin = `{"id":"docs/a","text":"tide"}` + "\n" + `{"id":"docs/b","text":"tide","metadata":{"n":1}}` + "\n" + `{"id":"docs-old/c","text":"tide"}`
	s.want(t, step{args: args("ingest --jsonl -"), stdout: anything, stderr: anything})
	for _, want := range []step{
		{args: args("document list --prefix docs/"), stdout: "...docs/a  ready"},
		{args: append(args("document list --prefix docs/ --json --filter"), `{"n": 1}`), stdout: `..."uri":"docs/b"`},
		{args: args("query tide --prefix docs-old/ --mode keyword"), stdout: "...docs-old/c"},
		{args: args("graph tide --prefix docs-old/ --mode keyword"), stdout: "...docs-old/c"},
		{args: args("document delete --prefix docs/ --dry-run"), stdout: "...would delete 2 documents of index documents\n"},
		{args: args("document delete --prefix docs/"), code: 2, stderr: "...needs --yes where nobody can be asked"},
		{args: args("document delete --prefix docs/ --uri x"), code: 2, stderr: "...exclude each other"},
		{args: []string{"document", "delete", "--prefix", ""}, code: 2, stderr: "...--prefix is empty"},
		{args: args("document delete --prefix docs/ --yes"), stdout: "deleted 2 documents of index documents\n"},
		{args: args("document delete --prefix docs/ --yes"), stdout: "no document of index documents is selected\n"},
		{args: args("index describe documents"), stdout: "...documents ready    1\n"},
	} {
		s.want(t, want)
	}
}

// A file appears when it is complete, and a failed download leaves what was there.
func TestADownloadReplacesAFileAtOnce(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: args("index create documents"), stdout: anything})
	s.stdin = `{"id":"a","title":"A","text":"one"}`
	if code, _, stderr := s.run(args("ingest --jsonl -")...); code != 0 {
		t.Fatal(stderr)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	s.want(t, step{args: []string{"document", "download", "--uri", "a", "-o", path}, stderr: anything})
	s.want(t, step{args: []string{"document", "download", "--uri", "b", "-o", path}, code: 1, stderr: anything})
	if got, err := os.ReadFile(path); err != nil || string(got) != "one" {
		t.Errorf("the file has %q, %v", got, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("the folder has %v, %v", files, err)
	}
	if err := output.ReplaceFile(path, 0o644, func(w io.Writer) error { _, _ = w.Write([]byte("tw")); return io.ErrUnexpectedEOF }); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "one" {
		t.Errorf("after a broken download the file has %q, %v", got, err)
	}
}
