package main

import "testing"

func TestIndexCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for _, want := range []step{
		{args: args("index list"), stderr: "no indexes\n"},
		{
			args: args(`index create books --dimension 3 --type flat --m 8 --strategy markdown --max-size 9 --chunking {"stripHeaders":true}`),
			stdout: `
index              books
status             ready
embedding model    builtin/hash-512
dimension          3
metric             cosine
type               flat
text language      english
chunking           {"strategy":"markdown","maxSize":9,"stripHeaders":true}
documents ready    0
documents pending  0
documents failed   0
chunks             0
graph              all edges
created            2026-11-21T08:00:00Z
updated            2026-11-21T08:00:00Z
`,
		},
		{args: args("index describe books --json"), stdout: `..."pendingDocumentCount": 0,`},
		{args: args("index list"), stdout: `
INDEX  MODEL             DIMENSION  READY  PENDING  FAILED  CHUNKS  STATUS
books  builtin/hash-512  3          0      0        0       0       ready
`},
		{args: args(`index create more --chunking {"maxsize":1}`), code: 2, stderr: `...unknown field "maxsize"`},
		{args: args("index graph books --rebuild"), stderr: "rebuilding the graph: see ragd job watch job-of-books\n"},
		{args: args("index graph books --rebuild --json"), stdout: `..."jobId": "job-of-books"`, stderr: anything},
		{args: args("index graph books --edge-types mention,next --threshold 0.6"), stdout: "...mention, next\n"},
		{args: args("index graph books --off --json"), stdout: `..."off": true`},
		{args: args("index graph books"), code: 2, stderr: "...either settings are needed or --rebuild"},
		{args: args("index graph absent --off"), code: 1, stderr: "ragd: index \"absent\" not found\n"},
		{args: args("index reembed books"), code: 2, stderr: "...--model is missing"},
		{
			args: args("index reembed books --model openai/other"), stdout: "running 0 of 1 chunks\nsucceeded 2 of 2 documents\n",
			stderr: "job job2 embeds index books with openai/other\n",
		},
		{args: args("index reembed books --model openai/other --wait=false"), stdout: "...next embedding model  openai/other"},
		{args: args("index delete absent --yes"), code: 1, stderr: "ragd: index \"absent\" not found\n"},
		{args: args("index delete books --yes"), stdout: "deleted index books\n"},
	} {
		s.want(t, want)
	}
}
