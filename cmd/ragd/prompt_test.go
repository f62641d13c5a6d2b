package main

import "testing"

func TestPromptCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.stdin = "title: Greet\narguments:\n  - {name: who, required: true}\nmessages:\n  - text: Greet {{arguments.who}}.\n"
	s.want(t, step{args: args("prompt create greet --file -"), stdout: anything})
	s.stdin = `{"messages": [{"text": "Say hello to {{arguments.who}}."}]}`
	s.want(t, step{args: args("prompt update greet --file -"), stdout: "...hello to {{arguments.who}}.\n"})
	s.stdin = "colour: red"
	s.want(t, step{args: args("prompt create other -f -"), code: 1, stderr: "...unknown field \"colour\"\n"})
	for _, want := range []step{
		{args: args("prompt update greet --name stable"), stdout: "...hello to {{arguments.who}}.\n"},
		{args: args("prompt list"), stdout: anything},
		{args: args("prompt render greet --argument who=Rosa"), stdout: "...Say hello to Rosa.\n"},
		{args: args("prompt render greet --version 1 --argument who=Rosa"), stdout: "...Greet Rosa.\n"},
		{args: args("prompt render greet"), code: 1, stderr: "...who: is required\n"},
		{args: args("prompt render greet --argument who"), code: 2, stderr: anything},
		{args: args("prompt get greet --version 3"), code: 1, stderr: "ragd: prompt \"greet\" has no version \"3\"; the latest is 2\n"},
		{args: args("prompt create greet"), code: 2, stderr: anything},
		{args: args("prompt delete greet --version 1"), stdout: "deleted version 1 of prompt greet\n"},
		{args: args("prompt delete greet"), stdout: "deleted prompt greet\n"},
	} {
		s.want(t, want)
	}
}
