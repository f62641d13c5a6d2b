package main

import (
	"testing"

	"github.com/ragdhq/ragd/internal/testing/modelserver"
)

func TestIndexCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t, providing(modelserver.New(t))...)
	for _, want := range []step{
		{args: args("index list"), stderr: "no indexes\n"},
		{
			args: args(`index create books --type flat --strategy markdown --max-size 9 --chunking {"stripHeaders":true}`),
			stdout: `
index              books
status             ready
embedding model    builtin/hash-512
dimension          512
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
books  builtin/hash-512  512        0      0        0       0       ready
`},
		{args: args(`index create more --chunking {"maxsize":1}`), code: 2, stderr: `...maxsize: is not known here; did you mean maxSize?`},
		{args: args("index graph books --rebuild"), stderr: "rebuilding the graph: see ragd job watch #1\n"},
		{args: args("index graph books --rebuild --json"), stdout: `..."jobId": "#`, stderr: anything},
		{args: args("index graph books --edge-types mention,next --threshold 0.6"), stdout: "...mention, next\n"},
		{args: args("index graph books --off --json"), stdout: `..."off": true`},
		{args: args("index graph books"), code: 2, stderr: "...either settings are needed or --rebuild"},
		{args: args("index graph absent --off"), code: 1, stderr: "ragd: index \"absent\" not found: create it first, or list the indexes to see the names\n"},
		{args: args("index reembed books"), code: 2, stderr: "...--model is missing"},
		{
			args: args("index reembed books --model openai/other"), stdout: "...succeeded\n",
			stderr: "... embeds index books with openai/other\n",
		},
		{args: args("index reembed books --model openai/third --wait=false"), stdout: "...next embedding model  openai/third"},
		{args: args("index delete absent --yes"), code: 1, stderr: "ragd: index \"absent\" not found: create it first, or list the indexes to see the names\n"},
		{args: args("index delete books --yes"), stdout: "deleted index books\n"},
	} {
		s.want(t, want)
	}
}
