package main

import "testing"

func TestDocumentAndJobCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: args("document list"), code: 1, stderr: "ragd: there is no index yet: `ragd ingest` or `ragd index create` makes one\n"})
	lines := file(t, "c.jsonl", `{"id":"a","title":"A","text":"one","metadata":{"n":1}}`+"\n"+`{"id":"b","text":"bad"}`)
	s.want(t, step{args: append(args("ingest --jsonl --concurrency 1"), lines), code: 1, stdout: anything, stderr: anything})
	for _, want := range []step{
		{args: args("document list"), stdout: `
DOCUMENT  URI  STATUS  CHUNKS  BYTES  UPDATED
doc3      a    ready   1       3      2026-11-21T08:00:00Z
doc5      b    failed  1       3      2026-11-21T08:00:00Z
`},
		{args: args("document get doc3 --index documents"), stdout: `
document  doc3
index     documents
uri       a
title     A
status    ready
bytes     3
chunks    1
version   1
metadata  {"n":1}
created   2026-11-21T08:00:00Z
updated   2026-11-21T08:00:00Z
`},
		{args: args("document get --uri b"), stdout: "...error     cannot be embedded\n"},
		{args: args("document get"), code: 2, stderr: "ragd document get: DOCUMENT is missing (see `ragd document get --help`)\n"},
		{args: args("document get doc3 --uri b"), code: 2, stderr: "...unexpected argument \"doc3\""},
		{args: args("document chunks --uri a"), stdout: "#0  bytes 0-3\n   one\n\n"},
		{args: args("document chunks doc3 --json"), stdout: `..."text":"one"`},
		{args: args("document delete doc3 --yes"), stdout: "deleted document doc3 (a)\n"},
		{args: args("document delete doc3 --yes"), code: 1, stderr: "ragd: document \"doc3\" not found\n"},
		{args: args("job list"), stdout: `
JOB   KIND    STATUS     PROGRESS       INDEX      DOCUMENT  CREATED               ERROR
job4  ingest  failed     1 of 1 chunks  documents  doc5      2026-11-21T08:00:00Z  cannot be embedded
job2  ingest  succeeded  1 of 1 chunks  documents  doc3      2026-11-21T08:00:00Z  
`},
		{args: args("job list --status failed --json"), stdout: `...{"jobId":"job4",`},
		{args: args("job get job4"), stdout: "...error     cannot be embedded\n"},
		{args: args("job watch job2"), stdout: "running 0 of 1 chunks\nsucceeded 1 of 1 chunks\n"},
		{args: args("job watch job4"), code: 1, stdout: anything, stderr: "ragd: job job4 ended as failed: cannot be embedded\n"},
		{args: args("job cancel job2"), code: 1, stderr: "ragd: job \"job2\" has ended as succeeded: there is nothing to cancel\n"},
		{args: args("job retry job4"), stdout: "job       job6\nkind      ingest\nstatus    queued\nattempts  0\n"},
		{args: args("job watch job9"), code: 1, stderr: "ragd: job \"job9\" not found\n"},
	} {
		s.want(t, want)
	}
	s.want(t, step{args: args("index create second"), stdout: anything})
	s.want(t, step{args: args("document list"), code: 2, stderr: "...--index is missing and there are several: documents, second"})
}
