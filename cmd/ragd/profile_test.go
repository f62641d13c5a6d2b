package main

import (
	"path/filepath"
	"testing"
)

func TestProfileCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	lines := file(t, "c.jsonl", `{"id":"a","text":"a fox","metadata":{"team":"red"}}`+"\n"+`{"id":"b","text":"a fox too","metadata":{"team":"blue","size":3}}`)
	s.want(t, step{args: append(args("ingest --jsonl --concurrency 1"), lines), stdout: anything, stderr: anything})
	s.stdin = "description: blue first\nranking:\n  boosts:\n    - {filter: {team: blue}, weight: 0.9}\n"
	s.want(t, step{args: args("profile create first --file - --default"), stdout: "...\"weight\":0.9"})
	s.stdin = `{"ranking": {"boosts": [{"filter": {"team": "red"}, "weight": 0.9}]}}`
	s.want(t, step{args: args("profile update first --file -"), stdout: "...versions     2 1\n"})
	s.stdin = "colour: red"
	s.want(t, step{args: args("profile create other -f -"), code: 1, stderr: "...unknown field \"colour\"\n"})
	for _, want := range []step{
		{args: args("profile list"), stdout: anything},
		{args: args("query fox -k 1 --explain"), stdout: "...ranking profile first@2 of index documents\n"},
		{args: args("query fox -k 1 --explain --profile first@1"), stdout: "...ranking profile first@1 of index documents\n"},
		{args: args("graph fox -k 1 --json --profile first@1"), stdout: `..."profileName": "first"`},
		{args: append(args("query fox -k 1 --explain --profile none --boost when:30d --boost"), `{"field": "size", "origin": 3, "halfDistance": 1}`), stdout: "... x 0.5000 by boosts"},
		{args: append(args("query fox --boost"), `{"fields": "size"}`), code: 2, stderr: "...is no boost in JSON"},
		{args: args("query fox -k 1 --explain --profile none --field-weights title=2,text=0.5"), stdout: "... by field weights"},
		{args: args("query fox --field-weights size=2"), code: 2, stderr: "...--field-weights: size=2 is not title, headings or text"},
		{args: append(args("index export documents --field text --filter"), `{"team": "blue"}`), stdout: "...\"text\":\"a fox too\"}\n"},
		{args: append(args("index export documents --output"), filepath.Join(t.TempDir(), "chunks.jsonl"))},
		{args: args("index export documents --field size"), code: 1, stderr: "...fields[0]: unknown field \"size\""},
		{args: args("index export documents --resume nonsense"), code: 1, stderr: "...pageToken"},
		{args: args("query --near place:52.52,east"), code: 2, stderr: "...--near \"place:52.52,east\" is not FIELD:LAT,LON"},
		{args: args("query --near team:52.52,13.4 --json"), stdout: anything},
		{args: args("query fox --profile second"), code: 1, stderr: "ragd: index \"documents\" has no ranking profile \"second\": list its ranking profiles to see the names, or create it\n"},
		{args: args("profile update first --restore 1"), stdout: "...versions     3 2 1\n"},
		{args: args("profile update first --default=false"), stdout: "...default      false\n"},
		{args: args("profile get first --version 7"), code: 1, stderr: "ragd: ranking profile \"first\" of index \"documents\" has no version 7; the latest is 3\n"},
		{args: args("profile delete first --version 1"), stdout: "deleted version 1 of ranking profile first\n"},
		{args: args("profile delete first"), stdout: "deleted ranking profile first\n"},
	} {
		s.want(t, want)
	}
}
