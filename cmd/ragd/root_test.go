package main

import "testing"

func TestVersion(t *testing.T) {
	t.Parallel()
	s := newOfflineSession(t)
	s.want(t, step{args: args("version"), stdout: "...ragd "})
	s.want(t, step{args: args("version --json"), stdout: `..."go": "go`})
}

func TestLicenses(t *testing.T) {
	t.Parallel()
	s := newOfflineSession(t)
	for _, part := range []string{"Third-party notices", "github.com/riverqueue/river v", "PDFium", "@mantine/core"} {
		s.want(t, step{args: args("licenses"), stdout: "..." + part})
	}
}

func TestCommandLinesThatAreWrong(t *testing.T) {
	t.Parallel()
	s := newOfflineSession(t)
	for _, want := range []step{
		{args: args("qury"), code: 2, stderr: "ragd: unknown command \"qury\"; did you mean query? (see `ragd --help`)\n"},
		{args: args("tenant frobnicate"), code: 2, stderr: "ragd tenant: unknown command \"frobnicate\" (see `ragd tenant --help`)\n"},
		{args: args("query a b"), code: 2, stderr: "ragd query: unexpected argument \"b\" (see `ragd query --help`)\n"},
		{args: args("query a --frobnicate"), code: 2, stderr: "ragd query: unknown flag: --frobnicate (see `ragd query --help`)\n"},
		{args: args("query a --topk 3"), code: 2, stderr: "ragd query: unknown flag: --topk; did you mean --top-k? (see `ragd query --help`)\n"},
		{args: args("query a --apikey 3"), code: 2, stderr: "ragd query: unknown flag: --apikey (see `ragd query --help`)\n"}, // a secret
		{args: args("query a --server ftp://x"), code: 2, stderr: "...server \"ftp://x\" is not an address"},
		{args: nil, stdout: "...Available Commands:"},
		{args: args("ingest --help"), stdout: "...my-export | ragd ingest --jsonl -"},
	} {
		s.want(t, want)
	}
}
