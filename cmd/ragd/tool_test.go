package main

import "testing"

func TestToolCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: args("index create books"), stdout: anything})
	for _, want := range []step{
		{args: args("tool list"), stderr: "no tools\n"},
		{
			args: args(`tool create ask --index books --filter {"lang":"en"} --settings {"topK":5} --arguments queryText --fixed --description Books.`),
			stdout: `
tool         ask
kind         vector_query
title        ask
description  Books.
settings     {"filter":{"lang":"en"},"indexName":"books","topK":5}
arguments    queryText
fixed        yes
created      2026-11-21T08:00:00Z
updated      2026-11-21T08:00:00Z
`,
		},
		{args: args("tool update ask --title Books --fixed=false"), stdout: `
tool         ask
kind         vector_query
title        Books
description  Books.
settings     {"filter":{"lang":"en"},"indexName":"books","topK":5}
arguments    queryText
created      2026-11-21T08:00:00Z
updated      2026-11-21T08:00:00Z
`},
		{args: args("tool get ask --json"), stdout: `..."toolName": "ask",`},
		{args: args("tool list"), stdout: `
TOOL  KIND          INDEX  DESCRIPTION
ask   vector_query  books  Books.
`},
		{args: args("tool delete ask"), stdout: "deleted tool ask\n"},
		{args: args("tool get ask"), code: 1, stderr: "ragd: tool \"ask\" not found\n"},
	} {
		s.want(t, want)
	}
}

// A number that is given to an argument for texts, such as the number of an order, is a text.
func TestArgumentsOfToolsAreOfTheirTypes(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: args("index create books"), stdout: anything})
	s.want(t, step{args: args("tool call search --arg query=4711 --arg topK=3"), stdout: "...", stderr: anything})
	s.want(t, step{args: args("tool call search --arg query=4711 --arg topK=many"), code: 1, stderr: "...topK: must be of type integer, got string"})
}
