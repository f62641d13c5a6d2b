package main

import (
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

func TestIndexCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t, providing(modelserver.New(t))...)
	glossary := file(t, "glossary.txt", "# cars\nauto, wagen # two\n\nlkw => lastwagen\n")
	for _, want := range []step{
		{args: args("index list"), stderr: "no indexes\n"},
		{
			args: args(`index create books --type flat --strategy markdown --max-size 9 --chunking {"stripHeaders":true}`),
			stdout: `
index              books
status             ready
embedding model    builtin/hash-512
dimension          512
vector type        vector
metric             cosine
type               flat
text language      auto
chunking           {"strategy":"markdown","maxSize":9,"stripHeaders":true}
documents ready    0
documents pending  0
documents failed   0
chunks             0
recall target      0.95
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
		{args: args("index create half --vector-type halfvec --recall-target 0.9 --json"), stdout: `..."vectorType": "halfvec",`},
		{args: args("index create half --vector-type halfvec --recall-target 0.9 --json"), stdout: `..."recallTarget": 0.9`},
		{args: args("index recall half 0.99"), stdout: "...recall target      0.99\n"},
		{args: args("index recall half 2"), code: 1, stderr: "...recallTarget: must be between 0.9 and 0.999, got 2"},
		{args: args("index synonyms half"), stderr: "no synonyms\n"},
		{args: []string{"index", "synonyms", "half", "--add", "k8s, Kubernetes", "--add", "MI => myocardial infarction"}, stdout: "stored    2\nsynonyms  2\n"},
		{args: []string{"index", "synonyms", "half", "--file", glossary, "--replace", "--language", "german"}, stdout: "stored    2\nsynonyms  2\n"},
		{args: args("index synonyms half"), stdout: "...german    auto, wagen\n"},
		{args: args("index synonyms half"), stdout: "...german    lkw => lastwagen\n"},
		{args: args("index synonyms half --json"), stdout: `..."language":`},
		{args: args("index synonyms half --delete-all"), stdout: "deleted  2\n"},
		{args: []string{"index", "synonyms", "half", "--add", "a =>"}, code: 2, stderr: `..."a =>" has nothing after =>`},
		{args: args("index synonyms half --replace"), code: 2, stderr: "...--replace and --language need --add or --file"},
		{args: args("index synonyms half --add a,b --delete c"), code: 2, stderr: "...entries are either added or deleted"},
		{args: args("index curations half --question leave --contains --pin uri:b.md --pin uri:a.md --hide id:c --id l"), stdout: "stored     l\ncurations  1\n"},
		{args: args("index curations half"), stdout: "ID  NAMESPACE  MATCH     QUESTION  PINS               HIDES\nl   default    contains  leave     uri:b.md uri:a.md  id:c\n"},
		{args: args("index curations half --delete l"), stdout: "deleted  1\n"},
		{args: args("index curations half"), stderr: "no curations\n"},
		{args: args("index curations half --pin uri:a.md"), code: 2, stderr: "...need --question"},
		{args: args("index recall half many"), code: 2, stderr: `...TARGET must be a number such as 0.99, got "many"`},
		{args: args("index delete half --yes"), stdout: anything, stderr: anything},
		{args: args("index situate books"), code: 1, stderr: "...makes no sentences of context: set the option context of its extract first"},
		{args: args("index situate books --model openai/m --budget 5000 --dry-run"), stdout: "...budget tokens         5000\nspent tokens          0\n"},
		{args: args("index situate books --model openai/m --budget 5000"), stdout: "...documents             0\n"},
		{args: args("index describe books --json"), stdout: `..."budgetTokens": 5000`},
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
		{args: args("index truncate books"), code: 2, stderr: "...needs --yes where nobody can be asked"},
		{args: args("index truncate absent --yes"), code: 1, stderr: "ragd: index \"absent\" not found: create it first, or list the indexes to see the names\n"},
		{args: args("index delete absent --yes"), code: 1, stderr: "ragd: index \"absent\" not found: create it first, or list the indexes to see the names\n"},
		{args: args("index delete books --yes"), stdout: "deleted index books\n"},
	} {
		s.want(t, want)
	}
}

func TestTruncateEmptiesAnIndexAndKeepsItsSettings(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: args("index create books --strategy sentence --max-size 300 --graph-threshold 0.6"), stdout: anything})
	before := settingsOf(t, s)
	lines := file(t, "c.jsonl", `{"id":"a","text":"LD-101 is a lock."}`+"\n"+`{"id":"b","text":"The key fits LD-101."}`)
	s.want(t, step{args: []string{"ingest", "--jsonl", lines}, stdout: anything})
	s.interactive, s.stdin = true, "no\n"
	s.want(t, step{args: args("index truncate books"), code: 1, stderr: `This deletes the content of index books: 2 documents and 2 chunks. Type "books" to go on: ragd: nothing was deleted` + "\n"})
	s.stdin = "books\n"
	s.want(t, step{args: args("index truncate books"), stdout: "emptied index books: 2 documents and 2 chunks deleted\n", stderr: anything})
	if after := settingsOf(t, s); after != before {
		t.Errorf("the index was\n%s\nand is\n%s", before, after)
	}
	s.want(t, step{args: []string{"ingest", "--jsonl", lines}, stdout: "...2 documents ready in index books: "})
}

// settingsOf returns the only index as it is described, without its times.
func settingsOf(t *testing.T, s *session) string {
	t.Helper()
	code, stdout, stderr := s.run("index", "describe", "books")
	if code != 0 {
		t.Fatal(stderr)
	}
	settings, _, _ := strings.Cut(stdout, "created")
	return settings
}
