package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runOf returns the id of the run that a command printed.
func runOf(t *testing.T, stdout string) string {
	t.Helper()
	found := regexp.MustCompile(`run +([0-9a-f-]{36})`).FindStringSubmatch(stdout)
	if found == nil {
		t.Fatalf("no run in\n%s", stdout)
	}
	return found[1]
}

func TestEvalSetsAndRuns(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: append(args("ingest --index fruit --jsonl"), file(t, "c.jsonl", evalCorpus)), stdout: anything, stderr: anything})
	run := func(line string, more ...string) string {
		t.Helper()
		code, stdout, stderr := s.run(append(args(line), more...)...)
		if code != 0 {
			t.Fatalf("%s: exit code %d, %s", line, code, stderr)
		}
		return stdout
	}
	has := func(stdout string, parts ...string) {
		t.Helper()
		flat := strings.Join(strings.Fields(stdout), " ")
		for _, part := range parts {
			if !strings.Contains(flat, part) {
				t.Errorf("%q is not in\n%s", part, stdout)
			}
		}
	}
	queries, qrels := file(t, "q.jsonl", evalQueries), file(t, "r.tsv", evalQrels)
	has(run("eval set import fruit --index fruit --unanswerable", "--queries", queries, "--qrels", qrels), "questions 3", "index fruit")
	has(run("eval set list"), "SET INDEX QUESTIONS DRAFTED", "fruit fruit 3 0")
	has(run("eval set show fruit"), "q1 apple d1, d2", "q3 nothing is judged nothing")

	first := run("eval run fruit --mode keyword --k 1,5 --min-score 0 --label words")
	has(first, "label words", `settings query {"searchMode":"keyword"}`, "questions 3, of which 1 unanswerable", "status succeeded",
		"recall@1 0.750 0.500 to 1.000", "recall@5 1.000 1.000 to 1.000", "mrr 1.000", "precision 1.000", "unanswerableAuc 1.000")
	second := run(`eval run fruit --graph --settings {"searchMode":"vector","topK":20}`)
	has(second, "settings graph", "recall@5 1.000")
	has(run("eval runs fruit"), "RUN SET INDEX STATUS MEASURES LABEL SETTINGS CREATED", "recall@1 0.750", "words")
	has(run("eval show "+runOf(t, first)+" --per-question"), "QUESTION FIRST RECALL@5 TOP MS TEXT MISSING", "q1 1 1.00", "q3 - -")
	has(run("eval compare "+runOf(t, first)+" "+runOf(t, second)), "3 questions in both runs", "MEASURE BASELINE CANDIDATE DIFFERENCE 95% INTERVAL P WINS LOSSES TIES SIGN P", "recall@5 1.000 1.000 0.000 0.000 to 0.000 1.000 0 0 2 1.000")
	var compared struct{ QuestionCount int }
	if err := json.Unmarshal([]byte(run("eval compare --json "+runOf(t, first)+" "+runOf(t, second))), &compared); err != nil || compared.QuestionCount != 3 {
		t.Errorf("compared %+v, %v", compared, err)
	}

	exported := filepath.Join(t.TempDir(), "exported.jsonl")
	run("eval set export fruit --to " + exported)
	if content, err := os.ReadFile(exported); err != nil || !strings.HasPrefix(string(content), `{"id":"q1","text":"apple","uris":["d1","d2"]}`+"\n") {
		t.Errorf("exported %s, %v", content, err)
	}
	judged := filepath.Join(t.TempDir(), "qrels.tsv")
	run("eval set export fruit --qrels " + judged)
	if content, err := os.ReadFile(judged); err != nil || string(content) != "query_id\tdoc_id\trelevance\nq1\td1\t1\nq1\td2\t1\nq2\td3\t1\n" {
		t.Errorf("exported %s, %v", content, err)
	}
	has(run("eval set import copy --index fruit --queries "+exported), "questions 3")
	has(run("eval set draft drafts --index fruit --count 2"), "set drafts")

	has(run("eval delete "+runOf(t, first)), "deleted run")
	s.want(t, step{args: args("eval set delete fruit"), code: 2, stderr: anything})
	has(run("eval set delete fruit --yes"), "deleted question set fruit")
	s.want(t, step{args: args("eval set show fruit"), code: 1, stderr: "ragd: question set \"fruit\" not found\n"})
	s.want(t, step{args: args("eval run fruit --settings {\"nothing\":1}"), code: 2, stderr: anything})
}

func TestIndexTune(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	var corpus, questions strings.Builder
	for n := range 60 {
		name := strings.Repeat(string(rune('a'+n%26)), 3+n/26)
		fmt.Fprintf(&corpus, `{"uri":"%s","text":"the %s fruit"}`+"\n", name, name)
		fmt.Fprintf(&questions, `{"id":"%d","text":"fruit %s","uris":["%s"]}`+"\n", n, name, name)
	}
	s.want(t, step{args: append(args("ingest --index fruit --jsonl"), file(t, "c.jsonl", corpus.String())), stdout: anything, stderr: anything})
	for _, line := range []string{"index tune fruit", "index tune fruit --questions fruit --restore"} {
		s.want(t, step{args: args(line), code: 2, stderr: "ragd index tune: either --questions is needed, or --restore alone (see `ragd index tune --help`)\n"})
	}
	s.want(t, step{args: args("index tune fruit --restore"), code: 1, stderr: "ragd: index \"fruit\" has no tuning and had none before: tune it first\n"})
	s.want(t, step{args: append(args("eval set import fruit --index fruit --queries"), file(t, "q.jsonl", questions.String())), stdout: anything})
	code, stdout, stderr := s.run(args("index tune fruit --questions fruit --adopt")...)
	flat := strings.Join(strings.Fields(stdout), " ")
	for _, part := range []string{"status succeeded", "present value 0", "chosen value 0, by ", "ndcg@10 1.000 instead of 1.000", "outcome the present value is the best", "VALUE NDCG@10 OF THE HALF THAT CHOSE 0 1.000 +2 "} {
		if code != 0 || !strings.Contains(flat, part) {
			t.Errorf("%q is not in the outcome: %d, %s, %s", part, code, stdout, stderr)
		}
	}
	if _, shown, _ := s.run(args("eval show " + runOf(t, stdout))...); !strings.Contains(strings.Join(strings.Fields(shown), " "), `settings tuning {"adopt":true}`) {
		t.Errorf("the run is shown as\n%s", shown)
	}
}

// A command that works and has subcommands too reads its settings like others.
func TestCommandsWithSubcommandsReadSettings(t *testing.T) {
	t.Parallel()
	s := newOfflineSession(t)
	s.env["RAGD_SERVER"] = "http://127.0.0.1:1"
	queries := file(t, "q.jsonl", `{"id":"1","text":"t","uris":["a"]}`)
	for _, line := range [][]string{{"eval", "--index", "a", "--queries", queries}, {"graph", "question"}} {
		s.want(t, step{args: line, code: 1, stderr: "...no answer from http://127.0.0.1:1: "})
	}
}
