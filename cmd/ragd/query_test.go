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
	const noModel = "ragd: model: the endpoint openai is not configured on this server; its operator sets RAGD_OPENAI_API_KEY or RAGD_OPENAI_BASE_URL, or the tenant makes an endpoint of this name\n"
	for _, want := range []step{
		{args: args("query fox"), stdout: `
1. 0.8510  Fox�[31m, a  (line 1)
   the quick brown fox the quick brown fox the quick brown fox the quick brown
   fox the quick brown fox the quick brown fox the quick brown fox the quick
   brown fox the quick brown fox the quick brown fox the quick brown fox the
   quick brown fox the quick brown fox the quick brown fox the quick brown fox
   the quick brown fox the quick brown fox the quick brown fox the quick brown
   fox the quick brown fox the quick brown fox the quick brown fox the quick
   brown fox the quick brown fox ...

2. 0.2485  b  (line 1)
   a fox

`},
		{args: args("query fox -k 1 --full --explain"), stdout: `...
   brown fox the quick brown fox the quick brown fox

   hybrid score 0.8510, keyword score 0.8511, similarity 0.5899

exact plan; about 2 candidates; embeddings weigh 0.001; complete: there are as many as wanted, or all that match; exact: no better ones exist

hybrid search  ms `},
		{args: args(`query fox --context {"topK":1} -k 2 --explain`), stdout: "...\n\nrequest context  value  from\ntopK             1      header Ragd-Context\n\nhybrid search  ms "},
		{args: args(`graph fox --context {"topK":1} --explain`), stdout: "...\n\nrequest context  value  from\ntopK             1      header Ragd-Context\n\nhybrid search  ms "},
		{args: args(`query fox --context {"land":"für"}`), code: 1, stderr: "...Ragd-Context.land: is unknown; known keys are "},
		{args: args("count"), stdout: "2 chunks of 2 documents\n"},
		{args: args("count quick --facet id --facet position.line:2"), stdout: anything},
		{args: args("count --facet id:century"), code: 1, stderr: "...facets[0].interval: must be one of minute, hour, day, week, month, quarter, year, got \"century\"\n"},
		{args: args("query --order-by title:desc --page-size 1 --prompt-text"), stdout: anything},
		{args: args("query fox --page-size 1"), stdout: anything, stderr: "...there are more: repeat the query with --page-token "},
		{args: args("query fox --group-by team:0"), code: 1, stderr: "...groupBy.size: must be between 1 and 100 for 10 groups (topK), got 0\n"},
		{args: args("query fox --prompt-text"), stdout: "...\n\n[2]\na fox\n"},
		{args: args("query fox --max-tokens 512 --prompt-text"), stdout: "...\n\n[2]\na fox\n", stderr: "...of 512 tokens (cl100k_base)\n"},
		{args: args("query fox --max-tokens 511"), code: 1, stderr: "ragd: maxTokens: must be between 512 and 1000000, got 511; leave it out for no limit\n"},
		{args: args("graph fox --max-tokens 600 --encoding words"), code: 1, stderr: "...encodingName: unknown encoding \"words\"; known are "},
		{args: args("query fox --json"), stdout: `..."relevantContext": "[1] Fox\u001b[31m\nthe quick`},
		{args: args("query cat --index documents --mode keyword"), stderr: "nothing was found\n"},
		{args: args("query fox --index absent"), code: 1, stderr: "ragd: index \"absent\" not found: create it first, or list the indexes to see the names\n"},
		{args: args("query fox --filter [1]"), code: 2, stderr: "...the message must be an object, got a list"},
		{args: args("query"), code: 2, stderr: "ragd query: QUESTION is missing, as in: ragd query \"Who pays for a delayed flight?\" (see `ragd query --help`)\n"},
		{args: args(`query fox --mode keyword --filter {"a":1}`), stderr: "warning: filter: none of the chunks looked at (up to 20000) has the field \"a\"; their fields are position\nnothing was found\n"},
		{args: args("query fox --rerank lexical"), stdout: anything},
		{args: args("query fox --rerank llm:openai/llama3:8b"), code: 1, stderr: noModel},
		{args: args("query fox --rerank openai/llama3:8b"), code: 1, stderr: noModel},
	} {
		s.want(t, want)
	}
	queries := asked[ragdv1.VectorQueryRequest](t, s.tap, "VectorQuery")
	for i, want := range []*ragdv1.Reranker{{Kind: "lexical"}, {Kind: "llm", Model: "openai/llama3:8b"}, {Model: "openai/llama3:8b"}} {
		if got := queries[len(queries)-3+i].GetReranker(); !proto.Equal(got, want) {
			t.Errorf("asked for the reranker %v, want %v", got, want)
		}
	}
	filtered := queries[len(queries)-4]
	if filtered.GetSearchMode() != "keyword" || filtered.GetTopK() != 10 || filtered.GetFilter().GetStructValue().AsMap()["a"] != 1.0 {
		t.Errorf("asked %v", filtered)
	}
	s.want(t, step{args: args("query --vector 0.5,1 --min-score 0 --min-similarity 0 --recall-target 0.99 --neighbours 2 --diversity 0.3 --max-per-document 1 --namespace n --fusion weighted --boost when:30d:0.25 --expand neighbours"), code: 1, stderr: "ragd: queryVector: has 2 dimensions, but index \"documents\" has 512\n"})
	queries = asked[ragdv1.VectorQueryRequest](t, s.tap, "VectorQuery")
	got := queries[len(queries)-1]
	topK, least := int32(10), 0.0
	options := &ragdv1.VectorQueryRequest{
		QueryVector: []float32{0.5, 1}, TopK: &topK, Namespace: "n", Neighbours: 2, Diversity: 0.3, MaxPerDocument: 1,
		Hybrid: &ragdv1.Hybrid{Fusion: "weighted"}, Boost: &ragdv1.Boost{Field: "when", HalfLife: "30d", Weight: new(0.25)}, MinScore: &least, MinSimilarity: &least, RecallTarget: new(0.99), Expand: "neighbours",
	}
	if !proto.Equal(got, options) {
		t.Errorf("asked %v, want %v", got, options)
	}
}
