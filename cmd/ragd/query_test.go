package main

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func TestQuery(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	long := strings.Repeat("the quick brown fox ", 40)
	lines := file(t, "c.jsonl", `{"id":"a","title":"Fox\u001b[31m","text":"`+long+`"}`+"\n"+`{"id":"b","text":"a fox"}`)
	s.want(t, step{args: append(args("ingest --jsonl --concurrency 1"), lines), stdout: anything, stderr: anything})
	const warning = "warning: reranking was skipped\n"
	for _, want := range []step{
		{args: args("query fox"), stderr: warning, stdout: `
1. 0.5000  Fox�[31m, a  (bytes 0-800)
   the quick brown fox the quick brown fox the quick brown fox the quick brown
   fox the quick brown fox the quick brown fox the quick brown fox the quick
   brown fox the quick brown fox the quick brown fox the quick brown fox the
   quick brown fox the quick brown fox the quick brown fox the quick brown fox
   the quick brown fox the quick brown fox the quick brown fox the quick brown
   fox the quick brown fox the quick brown fox the quick brown fox the quick
   ...

2. 0.5000  b  (bytes 0-5)
   a fox

`},
		{args: args("query fox -k 1 --full --explain"), stderr: warning, stdout: `...
   brown fox the quick brown fox the quick brown fox

approximate plan; about 300 candidates; complete: there are as many as wanted, or all that match; not exact: better ones may exist

hybrid search  ms    candidates
embed          0.25  1
`},
		{args: args("query fox --context"), stdout: "[1] context\n"},
		{args: args("query fox --json"), stdout: `..."relevantContext": "[1] context",`},
		{args: args("query cat --index documents"), stderr: warning + "nothing was found\n"},
		{args: args("query fox --index absent"), code: 1, stderr: "ragd: index \"absent\" not found\n"},
		{args: args("query fox --filter [1]"), code: 2, stderr: "...not the JSON that is wanted here"},
		{args: args("query"), code: 2, stderr: "ragd query: QUESTION is missing (see `ragd query --help`)\n"},
		{args: args(`query fox --mode keyword --filter {"a":1}`), stdout: anything, stderr: warning},
		{args: args("query fox --rerank lexical"), stdout: anything, stderr: warning},
		{args: args("query fox --rerank llm:openai/llama3:8b"), stdout: anything, stderr: warning},
		{args: args("query fox --rerank openai/llama3:8b"), stdout: anything, stderr: warning},
	} {
		s.want(t, want)
	}
	queries := s.fake.queries
	for i, want := range []*ragdv1.Reranker{{Kind: "lexical"}, {Kind: "llm", Model: "openai/llama3:8b"}, {Model: "openai/llama3:8b"}} {
		if got := queries[len(queries)-3+i].GetReranker(); !proto.Equal(got, want) {
			t.Errorf("asked for the reranker %v, want %v", got, want)
		}
	}
	s.want(t, step{args: args("query --vector 0.5,1 --min-score 0 --neighbours 2 --diversity 0.3 --max-per-document 1 --namespace n --fusion rrf"), stdout: anything, stderr: warning})
	got := s.fake.queries[len(s.fake.queries)-1]
	topK, least := int32(10), 0.0
	options := &ragdv1.VectorQueryRequest{
		QueryVector: []float32{0.5, 1}, TopK: &topK, Namespace: "n", Neighbours: 2, Diversity: 0.3, MaxPerDocument: 1,
		Hybrid: &ragdv1.Hybrid{Fusion: "rrf"}, DatabaseConfig: &ragdv1.DatabaseConfig{Pgvector: &ragdv1.PgVectorConfig{MinScore: &least}},
	}
	if !proto.Equal(got, options) {
		t.Errorf("asked %v, want %v", got, options)
	}
	last := queries[len(queries)-4]
	if last.GetSearchMode() != "keyword" || last.GetTopK() != 10 || last.GetFilter().GetStructValue().AsMap()["a"] != 1.0 {
		t.Errorf("asked %v", last)
	}
}
