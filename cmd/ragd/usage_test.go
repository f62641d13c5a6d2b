package main

import "testing"

func TestUsage(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	const header = "start,tenant,index,stage,model,calls,documents,chunks,bytes,input_tokens,output_tokens,seconds\n"
	for _, want := range []step{
		{args: args("usage"), stderr: "no rows\n"},
		{args: args("usage --csv --interval month"), stdout: header},
		{args: args("usage --from 2026-11-01 --to 2026-11-02T00:00:00Z --group-by total --csv"), stdout: header},
		{args: args("usage --from yesterday"), code: 2, stderr: "ragd usage: --from \"yesterday\" is no time: give a date, such as 2026-11-01, or RFC 3339, such as 2026-11-21T08:00:00Z (see `ragd usage --help`)\n"},
		{args: args("usage --interval week"), code: 1, stderr: "ragd: interval: must be hour, day or month\n"},
	} {
		s.want(t, want)
	}
}
