package main

import (
	"encoding/json"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

const (
	evalCorpus = `{"id":"d1","text":"red apple"}
{"id":"d2","text":"green apple"}
{"id":"d3","text":"red car"}`
	evalQueries = `{"id":"q1","text":"apple"}
{"id":"q2","text":"car"}
{"id":"q3","text":"nothing is judged"}`
	evalQrels = "query_id\tdoc_id\trelevance\nq1\td1\t1\nq1\td2\t1\nq2\td1\t0\nq2\td3\t1\n"
)

func TestEval(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	line := []string{"eval", "--index", "fruit", "--queries", file(t, "q.jsonl", evalQueries), "--qrels", file(t, "r.tsv", evalQrels)}
	first := append([]string{"--corpus", file(t, "c.jsonl", evalCorpus), "--concurrency", "1", "--k", "1,5"}, line[1:]...)
	code, stdout, stderr := s.run(append([]string{"eval"}, first...)...)
	if code != 0 || !strings.Contains(stderr, "left out 1 question without a relevant document\n") {
		t.Fatalf("exit code %d, stderr %s", code, stderr)
	}
	rows := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(rows) != 4 || strings.Join(strings.Fields(rows[0]), " ") !=
		"MODE QUESTIONS RECALL@1 RECALL@5 NDCG@1 NDCG@5 ALL@1 ALL@5 MRR P50 MS P99 MS" {
		t.Fatalf("printed\n%s", stdout)
	}
	for i, mode := range []string{"vector", "keyword", "hybrid"} {
		want := mode + " 2 0.7500 1.0000 1.0000 1.0000 0.5000 1.0000 1.0000 "
		if got := strings.Join(strings.Fields(rows[i+1]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("row %q, want %q", got, want)
		}
	}

	_, stdout, _ = s.run(append(line, "--mode", "keyword", "--json")...)
	var printed struct {
		Index string
		Modes []struct {
			Mode  string
			MRR   float64
			P50Ms float64
			Cuts  []struct{ K int }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &printed); err != nil {
		t.Fatal(err)
	}
	if printed.Index != "fruit" || len(printed.Modes) != 1 || printed.Modes[0].MRR != 1 || printed.Modes[0].P50Ms <= 0 ||
		len(printed.Modes[0].Cuts) != 2 || printed.Modes[0].Cuts[1].K != 10 {
		t.Errorf("printed %+v", printed)
	}
}

func TestEvalMeasuresReranking(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	corpus := append(args("ingest --jsonl --concurrency 1"), file(t, "c.jsonl", evalCorpus))
	s.want(t, step{args: corpus, stdout: anything, stderr: anything})
	code, stdout, stderr := s.run("eval", "--queries", file(t, "q.jsonl", evalQueries), "--qrels", file(t, "r.tsv", evalQrels),
		"--mode", "keyword", "--graph", "--rerank", "lexical")
	rows := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != 0 || len(rows) != 5 {
		t.Fatalf("exit code %d, printed %s, %s", code, stdout, stderr)
	}
	for i, mode := range []string{"keyword", "keyword+graph", "keyword+rerank", "keyword+graph+rerank"} {
		if got := strings.Fields(rows[i+1])[0]; got != mode {
			t.Errorf("row %d is %s, want %s", i+1, got, mode)
		}
	}
	reranked := 0
	count := func(r *ragdv1.Reranker) {
		if r.GetRequired() && r.GetKind() == "lexical" {
			reranked++
		}
	}
	for _, q := range asked[ragdv1.VectorQueryRequest](t, s.tap, "VectorQuery") {
		count(q.GetReranker())
	}
	for _, q := range asked[ragdv1.GraphRagRequest](t, s.tap, "GraphRag") {
		count(q.GetReranker())
	}
	if reranked != 4 {
		t.Errorf("%d of the questions were asked with the reranker, want 4", reranked)
	}
}

func TestEvalRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	queries, qrels := file(t, "q.jsonl", evalQueries), file(t, "r.tsv", evalQrels)
	files := []string{"--queries", queries, "--qrels", qrels}
	for _, c := range []struct {
		more   []string
		code   int
		stderr string
	}{
		{nil, 2, "...--queries or --answers is missing"},
		{[]string{"--queries", queries}, 1, "...no question has a relevant document: give each a field \"uris\", or --qrels"},
		{[]string{"--queries", queries, "--qrels", file(t, "r.tsv", "q1\td1\t1\n")}, 1, "...r.tsv:1: the header is missing: the first line must be query_id, doc_id and relevance"},
		{[]string{"--queries", queries, "--qrels", file(t, "r.tsv", "query_id\tdoc_id\trelevance\nq1\td1\tyes\n")}, 1, "...r.tsv:2: relevance \"yes\" is not a number"},
		{[]string{"--queries", file(t, "q.jsonl", "{\"id\":1,\"text\":\"a\"}\n{\"id\":\"1\",\"text\":\"b\"}")}, 1, "...q.jsonl:2: has the id \"1\" of"},
		{append(files, "--mode", "telepathy"), 2, "...--mode must be vector, keyword, hybrid or all, got \"telepathy\""},
		{append(files, "--k", "0"), 2, "...--k and --concurrency must be at least 1"},
		{[]string{"--queries", queries, "--qrels", file(t, "r.tsv", "query_id\tdoc_id\trelevance\n")}, 1, "...no question has a relevant document"},
		{[]string{"--queries", qrels, "--qrels", qrels}, 1, "...r.tsv:1: is not valid JSON"},
		{append(files, "--index", "absent"), 1, "...index \"absent\" not found"},
	} {
		s.want(t, step{args: append([]string{"eval", "--concurrency", "1"}, c.more...), code: c.code, stderr: c.stderr})
	}
}

func TestEvalNamesTheLineOfAWrongURI(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: append(args("ingest --jsonl --concurrency 1"), file(t, "c.jsonl", evalCorpus)), stdout: anything, stderr: anything})
	queries := file(t, "q.jsonl", `{"id":"q1","text":"apple","uris":["d1","d2"]}`+"\n"+`{"id":"q2","text":"car","uris":["d3","cars/d4"]}`)
	eval := []string{"eval", "--mode", "keyword", "--queries", queries}
	s.want(t, step{args: eval, code: 1, stderr: "...ragd: " + queries + `:2: index documents has no document with the uri "cars/d4"; its uris look like "d`})
	qrels := file(t, "r.tsv", "query_id\tdoc_id\trelevance\nq1\td1\t1\nq2\tabsent\t0\nq2\td5\t1\n")
	s.want(t, step{args: append(eval, "--qrels", qrels), code: 1, stderr: "..." + qrels + `:4: index documents has no document with the uri "d5"`})
	code, stdout, stderr := s.run(append(eval, "--allow-missing", "--per-question", "--k", "3")...)
	want := "MODE QUESTION FIRST RECALL@3 NOT FOUND\nkeyword q1 1 1.00\nkeyword q2 1 0.50 cars/d4\n\nMODE QUESTIONS RECALL@3"
	var squeezed []string
	for line := range strings.Lines(stdout) {
		squeezed = append(squeezed, strings.Join(strings.Fields(line), " "))
	}
	if got := strings.Join(squeezed, "\n"); code != 0 || !strings.HasPrefix(got, want) {
		t.Errorf("exit code %d, printed\n%s\n%s\nwant\n%s", code, got, stderr, want)
	}
	s.want(t, step{args: append(eval, "--allow-missing", "--json"), stdout: "...\"missing\": [\n            \"cars/d4\"\n          ]"})
}

// The questions that are shipped run as they are against the demo.
func TestTheShippedQuestionsRun(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: args("ingest --index handbook --base ../../examples/handbook ../../examples/handbook"), stdout: anything, stderr: anything})
	s.want(t, step{args: args("eval --index handbook --queries ../../examples/questions.jsonl --mode hybrid"), stdout: "...hybrid  12 "})
}
