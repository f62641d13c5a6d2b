package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGraph(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	lines := file(t, "c.jsonl", `{"id":"a","title":"Fox","text":"a fox"}`+"\n"+`{"id":"b","text":"a fox too"}`)
	s.want(t, step{args: append(args("ingest --jsonl --concurrency 1"), lines), stdout: anything, stderr: anything})
	picture := filepath.Join(t.TempDir(), "walk.svg")
	for _, want := range []step{
		{args: append(args("graph fox -k 1 --svg"), picture), stdout: `
1. 0.7317  Fox, a  (line 1)
   a fox

   named by the question and found at rank 1: Fox

`},
		{args: args("graph fox -k 1 --explain"), stdout: "...   the walk is here with probability 0."},
		{args: args("graph fox -k 1 --explain --boost when:30d:0.25"), stdout: "...; 0.7317 x 0.7500 by boosts\n"},
		{args: args("graph fox --boost when"), code: 1, stderr: "...boost.halfLife: must be a number with a unit"},
		{args: args("graph fox --dot -"), stdout: "...\t\ttype=\"mention\"\n\t\tlabel=\"names \\\"Fox\\\"\"\n"},
		{args: args("graph fox --dot - --json"), code: 2, stderr: "ragd graph: --json and --dot - both write to standard output: give --dot a file (see `ragd graph --help`)\n"},
		{args: args("graph fox --dot /absent/walk.dot"), code: 1, stderr: "...no such file or directory\n"},
		{args: args("graph fox --json"), stdout: `..."path": "named by the question and found at rank 1: Fox, similar 1.00 → b"`},
		{args: args("graph fox --index absent"), code: 1, stderr: "ragd: index \"absent\" not found: create it first, or list the indexes to see the names\n"},
		{args: args("graph"), code: 2, stderr: "ragd graph: QUESTION is missing, as in: ragd graph \"Where was the director of Dark River born?\" (see `ragd graph --help`)\n"},
		{args: args("graph fox --svg /absent/walk.svg"), code: 1, stderr: "...no such file or directory\n"},
	} {
		s.want(t, want)
	}
	drawn, err := os.ReadFile(picture)
	if err != nil || !strings.HasPrefix(string(drawn), "<svg") {
		t.Errorf("the picture is %.40q, error %v", drawn, err)
	}
}
