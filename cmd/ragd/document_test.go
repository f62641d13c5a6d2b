package main

import (
	"strings"
	"testing"
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
		{args: args("document get"), code: 2, stderr: "ragd document get: DOCUMENT is missing (see `ragd document get --help`)\n"},
		{args: args("document get #1 --uri b"), code: 2, stderr: "...unexpected argument \"#1\""},
		{args: args("document chunks --uri a"), stdout: "#0  bytes 0-3  {\"endLine\":1,\"n\":1,\"startLine\":1}\n   one\n\n"},
		{args: args("document chunks #1 --json"), stdout: `..."text":"one"`},
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
		{args: args("job retry #3"), stdout: "...kind  ingest\nstatus  queued\nattempts  0\n"},
		{args: args("job watch job9"), code: 1, stderr: "ragd: job \"job9\" not found\n"},
	} {
		s.want(t, want)
	}
	s.want(t, step{args: args("index create second"), stdout: anything})
	s.want(t, step{args: args("document list"), code: 2, stderr: "...--index is missing and there are several: documents, second"})
}
