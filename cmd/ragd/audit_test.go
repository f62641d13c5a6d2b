package main

import "testing"

func TestAudit(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	const header = "entry,time,kind,tenant,subject,issuer,client,method,object,request,calls,outcome,ended,result\n"
	for _, want := range []step{
		{args: args("audit --to 2020-01-01"), stderr: "no entries\n"},
		{args: args("audit --csv --to 2020-01-01"), stdout: header},
		{args: args("audit --from yesterday"), code: 2, stderr: "ragd audit: --from \"yesterday\" is no time: give a date, such as 2026-11-01, or RFC 3339, such as 2026-11-21T08:00:00Z (see `ragd audit --help`)\n"},
		{args: args("audit --kind query"), code: 1, stderr: "ragd: kind: must be action, denied or policy\n"},
		{args: args("index create papers"), stdout: "...papers"},
		{args: args("audit --method CreateIndex --limit 1"), stdout: "...CreateIndex  indexName=papers  1      ok"},
		{args: args("audit --method CreateIndex --limit 1 --csv"), stdout: "...127.0.0.1,ragd.v1.IndexService/CreateIndex,\"{\"\"indexName\"\":\"\"papers\"\"}\","},
	} {
		s.want(t, want)
	}
}
