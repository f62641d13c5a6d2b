package main

import (
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	const header = "entry,time,kind,tenant,subject,issuer,client,method,object,request,calls,outcome,ended,result\n"
	for _, want := range []step{
		{args: args("audit --to 2020-01-01"), stderr: "no entries\n"},
		{args: args("audit --csv --to 2020-01-01"), stdout: header},
		{args: args("audit --from yesterday"), code: 2, stderr: "ragd audit: --from \"yesterday\" is no time: give a date, such as 2026-11-01, or RFC 3339, such as 2026-11-21T08:00:00Z (see `ragd audit --help`)\n"},
		{args: args("audit --kind query"), code: 1, stderr: "ragd: kind: must be action or denied\n"},
		{args: args("index create papers"), stdout: "...papers"},
		{args: args("audit --method CreateIndex --limit 1"), stdout: "...CreateIndex  indexName=papers  1      ok"},
		{args: args("audit --method CreateIndex --limit 1 --csv"), stdout: "...127.0.0.1,ragd.v1.IndexService/CreateIndex,\"{\"\"indexName\"\":\"\"papers\"\"}\","},
	} {
		s.want(t, want)
	}
}

func TestEntriesAreSafeInSpreadsheets(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := writeAudit(&out, func(yield func(*ragdv1.AuditEntry, error) bool) {
		yield(&ragdv1.AuditEntry{Subject: "=HYPERLINK(1)", Issuer: "@SUM(A1)", RequestId: "+1", Object: map[string]string{"name": "-2\n\"x\""}}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `,1970-01-01T00:00:00Z,,,'=HYPERLINK(1),'@SUM(A1),,,"{""name"":""-2\n\""x\""""}",'+1,0,,,` + "\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}
