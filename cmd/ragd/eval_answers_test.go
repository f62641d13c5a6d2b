package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/long"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// An agent is asked the questions of a set, and two of its versions are compared.
func TestEvalAnswers(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	ai := modelserver.New(t)
	h := newHome(t, "RAGD_OPENAI_BASE_URL="+ai.URL+"/v1", "RAGD_OPENAI_API_KEY="+modelserver.Key, "RAGD_OPENAI_MODELS=*")
	h.serve()
	write := func(name, text string) string {
		path := filepath.Join(h.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	flat := func(args ...string) string { return strings.Join(strings.Fields(h.ragd(args...)), " ") }
	h.ragd("index", "create", "laws")
	h.ragd("ingest", write("law.txt", "Every cat pays a tax of five coins."), "--index", "laws", "--base", h.dir)
	definition := write("lawyer.yaml", "description: Knows the law.\nmodel: openai/m\nprices: {input: 1, output: 2}\n")
	h.ragd("agent", "create", "lawyer", "--file", definition)
	if set := flat("eval", "set", "import", "laws", "--index", "laws", "--queries", write("q.jsonl", `{"id": "coins", "text": "What do cats pay?", "answer": "5 coins", "alternativeAnswers": ["five coins"], "uris": ["law.txt"]}
{"id": "dogs", "text": "What do dogs pay?", "unanswerable": true}`)); !strings.Contains(set, "questions 2") {
		t.Fatal(set)
	}
	says := func(cats string) func(modelserver.Chat) modelserver.Turn {
		return func(c modelserver.Chat) modelserver.Turn {
			switch {
			case c.Model == "judge" && strings.Contains(c.User, "dogs"):
				return modelserver.Turn{Text: `{"analysis": "a", "declined": true}`}
			case c.Model == "judge":
				return modelserver.Turn{Text: `{"analysis": "the coins are right", "declined": false, "correctness": 1, "faithfulness": 0.5}`}
			case len(c.Results()) == 0:
				return modelserver.Turn{Calls: []modelserver.Call{{Name: "vector_query", Arguments: `{"queryText": "tax"}`}}}
			case strings.Contains(c.User, "dogs"):
				return modelserver.Turn{Text: "The documents do not say."}
			}
			return modelserver.Turn{Text: cats}
		}
	}
	has := func(got string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%q is not in\n%s", part, got)
			}
		}
	}
	ai.SetTurn(says("They pay the tax: five coins [1]."))
	first := flat("eval", "--answers", "--agent", "lawyer", "--set", "laws", "--judge", "openai/judge", "--label", "one")
	has(first, "label one", "settings agent lawyer, judge openai/judge", "questions 2, of which 1 unanswerable", "status succeeded", "4 steps, 2 calls of tools", "judge: 2 calls",
		"correctness 1.000", "exactMatch 0.000", "f1 0.571", "faithfulness 0.500", "citationRecall 1.000", "declinedUnanswerable 1.000", "failed 0.000", "tokens ", "cost ")
	ai.SetTurn(says("Five coins [1]."))
	second := flat("eval", "--answers", "--agent", "lawyer", "--set", "laws", "--judge", "openai/judge", "--declines", "^The documents")
	has(second, "exactMatch 1.000", "f1 1.000", `declines "^The documents"`)
	has(flat("eval", "runs", "laws"), "correctness 1.000, f1 0.571", "agent lawyer")
	has(flat("eval", "show", runOf(t, second), "--per-question"), "QUESTION CORRECT EXACT F1 FAITHFUL CITED-P CITED-R DECLINED", "coins 1.00 1.00 1.00 0.50 1.00 1.00 no", "Five coins [1].", "yes (unanswerable)")
	has(flat("eval", "compare", runOf(t, first), runOf(t, second), "--measure", "f1"), "2 questions in both runs", "f1 0.571 1.000 +0.429", "QUESTION F1 TEXT coins 0.57 -> 1.00 What do cats pay?")
	var shown struct {
		Answer struct{ Verdict struct{ Reason string } }
	}
	if err := json.NewDecoder(strings.NewReader(h.ragd("eval", "show", runOf(t, first), "--per-question", "--json"))).Decode(&shown); err != nil || shown.Answer.Verdict.Reason != "the coins are right" {
		t.Errorf("%+v, %v", shown, err)
	}
	has(flat("eval", "set", "export", "laws"), `"answer":"5 coins","alternativeAnswers":["five coins"]`)
}

func TestEvalAnswersNeedsAnAgentAndASet(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for _, c := range []struct {
		args   string
		stderr string
	}{
		{"eval --answers --set s", "...--agent is missing"},
		{"eval --answers --agent a", "...--set is missing"},
		{"eval --agent a --set s", "...--answers is missing"},
		{"eval --answers --agent a --set s --queries q.jsonl", "...--queries is for queries, not for --answers"},
		{"eval --answers --agent a --set s --k 5", "...--k is for queries, not for --answers"},
	} {
		s.want(t, step{args: args(c.args), code: 2, stderr: c.stderr})
	}
}

// The service is killed while an agent is asked. When it is started again, the run goes on after the
// answers that were stored.
func TestAnEvaluationOfAnAgentGoesOnAlthoughRagdIsKilled(t *testing.T) {
	long.Only(t)
	t.Parallel()
	needsDatabase(t)
	ai := modelserver.New(t)
	var mu sync.Mutex
	asked := map[string]int{}
	reached, killed := make(chan struct{}), make(chan struct{})
	ai.SetTurn(func(c modelserver.Chat) modelserver.Turn {
		mu.Lock()
		asked[c.User]++
		n := asked[c.User]
		mu.Unlock()
		if c.User == "question 06" && n == 1 {
			close(reached)
			<-killed
		}
		return modelserver.Turn{Text: "nothing"}
	})
	h := newHome(t, "RAGD_OPENAI_BASE_URL="+ai.URL+"/v1", "RAGD_OPENAI_API_KEY="+modelserver.Key, "RAGD_OPENAI_MODELS=*")
	service := h.serve()
	var questions strings.Builder
	for i := range 11 {
		fmt.Fprintf(&questions, `{"id": "%02d", "text": "question %02d", "answer": "nothing"}`+"\n", i, i)
	}
	for name, text := range map[string]string{"q.jsonl": questions.String(), "sage.yaml": "description: Knows nothing.\nmodel: openai/m\ntools: []\n"} {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.ragd("index", "create", "docs")
	h.ragd("agent", "create", "sage", "--file", filepath.Join(h.dir, "sage.yaml"))
	h.ragd("eval", "set", "import", "riddles", "--index", "docs", "--queries", filepath.Join(h.dir, "q.jsonl"))
	id := runOf(t, h.ragd("eval", "--answers", "--agent", "sage", "--set", "riddles", "--no-wait"))
	<-reached
	stop(t, service, syscall.SIGKILL)
	close(killed)
	h.serve()
	shown := ""
	wait.For(t, "the end of the evaluation", func() bool {
		shown = h.ragd("eval", "show", id)
		return strings.Contains(shown, "succeeded") || strings.Contains(shown, "failed ")
	})
	if flat := strings.Join(strings.Fields(shown), " "); !strings.Contains(flat, "exactMatch 1.000") || !strings.Contains(flat, "used 11 steps") {
		t.Errorf("the run is %s", shown)
	}
	mu.Lock()
	defer mu.Unlock()
	for i := range 11 {
		most := 1
		if i >= 4 && i < 8 { // of the batch that was interrupted
			most = 2
		}
		if n := asked[fmt.Sprintf("question %02d", i)]; n < 1 || n > most {
			t.Errorf("question %d was asked %d times", i, n)
		}
	}
}
