package main

import (
	"strings"
	"testing"
)

func TestAlertCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	lines := file(t, "before.jsonl", `{"id":"a","text":"the ferry is late","metadata":{"team":"red"}}`+"\n"+`{"id":"b","text":"soup with lentils","metadata":{"team":"blue"}}`)
	later := file(t, "later.jsonl", `{"id":"c","text":"another late ferry","metadata":{"team":"red"}}`+"\n"+`{"id":"d","text":"a late ferry of the others","metadata":{"team":"blue"}}`)
	last := file(t, "last.jsonl", `{"id":"e","text":"the last late ferry","metadata":{"team":"red"}}`)
	s.want(t, step{args: append(args("ingest --jsonl --concurrency 1"), lines), stdout: anything, stderr: anything})
	red := []string{"--filter", `{"team": "red"}`}
	for _, want := range []step{
		{args: append(args("alert preview --mode keyword"), "late ferry"), stdout: "1 match of the only 2 passages\nmatch     0.000  a  the ferry is late\n"},
		{args: append(args("alert preview --mode keyword --filter"), `{"team": "blue"}`, "late ferry"), stdout: "0 match of the only 1 passages\n"},
		{args: append(args("alert preview -k 1"), "late ferry"), stdout: "...0 match of the only 2 passages\nno match  "},
		{args: append(args("alert preview --min-score -1 --mode vector --json"), "late ferry"), stdout: `..."matchCount": 2`},
		{args: append(args("alert preview -k 101"), "late ferry"), code: 1, stderr: "...topK"},
		{args: append(args("alert create"), "late ferry"), code: 1, stderr: "...minScore"},
		{args: args("alert list"), stderr: "no alerts\n"},
	} {
		s.want(t, want)
	}
	s.ids = nil // those of documents
	for _, want := range []step{
		{args: append(append(args("alert create --mode keyword --name ferries"), red...), "late ferry"), stdout: "...alert  #1\nname  ferries\nindex  documents\n"},
		{args: append(args("ingest --jsonl --concurrency 1"), later), stdout: anything, stderr: anything},
		{args: args("alert matches #1"), stdout: "...another late ferry\n"},
		{args: args("alert pause #1"), stdout: "...paused  yes\n"},
		{args: args("alert list --index documents"), stdout: "ALERT  INDEX  STATE  NAME  QUESTION\n#1  documents  paused  ferries  late ferry\n"},
		{args: append(args("ingest --jsonl --concurrency 1"), last), stdout: anything, stderr: anything},
		{args: args("alert resume #1"), stdout: "...question  late ferry\n"},
		{args: append(args("alert update #1 --filter {} --mode vector --min-score 0.9 --question"), "soup"), stdout: "...question  soup\nmode  vector\nleast score  0.900\n"},
		{args: args("alert get #1"), stdout: "...question  soup\n"},
	} {
		s.want(t, want)
	}
	if _, matches, _ := s.run(args("alert matches #1")...); strings.Count(matches, "ferry") != 1 {
		t.Errorf("the other team's passage or that of the pause matched:\n%s", matches)
	}
	for _, want := range []step{
		{args: args("alert delete #1 --yes"), stdout: "deleted  #1\n"},
		{args: args("alert get #1"), code: 1, stderr: "ragd: alert \"#1\" not found: list the alerts to see their ids\n"},
	} {
		s.want(t, want)
	}
}
