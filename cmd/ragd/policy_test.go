package main

import "testing"

func TestPolicyCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.stdin = "tools: [list_*]\naction: deny\ncondition: '!(\"admin\" in caller.scopes)'\nmessage: Only administrators list.\n"
	s.want(t, step{args: args("policy create no_lists --file -"), stdout: anything})
	s.stdin = "{tools: ['*'], phase: after, action: redact, redaction: {paths: [indexNames]}, order: 3}"
	s.want(t, step{args: args("policy create hide -f -"), stdout: anything})
	s.stdin = "colour: red"
	s.want(t, step{args: args("policy create other -f -"), code: 1, stderr: "...unknown field \"colour\"\n"})
	s.stdin = `{"message": "No lists."}`
	s.want(t, step{args: args("policy update no_lists --file -"), stdout: anything})
	for _, want := range []step{
		{args: args("policy list"), stdout: "POLICY    ORDER  PHASE   ACTION  TOOLS   DISABLED\nhide      3      after   redact  *       \nno_lists  0      before  deny    list_*  \n"},
		{args: []string{"policy", "explain", "list_indexes", "--caller", `{"scopes": ["read"]}`}, stdout: "outcome  denied\nmessage  policy \"no_lists\" does not allow this call of \"list_indexes\": No lists.\nno_lists (before, deny): applies\n"},
		{args: []string{"policy", "explain", "list_indexes", "--result", `{"structuredContent": {"indexNames": ["a"]}}`}, stdout: "...hide (after, redact): has redacted something\n"},
		{args: args("policy update hide --disable"), stdout: anything},
		{args: args("policy update hide --enable --disable"), code: 2, stderr: anything},
		{args: args("policy get hide"), stdout: anything},
		{args: args("policy create hide"), code: 2, stderr: anything},
		{args: args("policy delete hide"), stdout: "deleted policy hide\n"},
		{args: args("policy delete hidden"), code: 1, stderr: anything},
	} {
		s.want(t, want)
	}
}
