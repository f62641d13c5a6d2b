package main

import "testing"

func TestKeyCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for _, want := range []step{
		{
			args: []string{"key", "create", "--name", "web", "--scopes", "read,write", "--filter", `{"team":"legal"}`},
			stdout: `
key  #1
tenant  acme
name  web
scopes  read, write
filter  {"team":"legal"}
secret  SECRET#1
`,
			stderr: "the secret is shown this once\n",
		},
		{args: args("key create --tenant acme --expires 1h --json"), stdout: `..."secret": "SECRET#2"`},
		{args: args("key create --scopes operator --json"), stdout: `..."tenantId": "",`, stderr: anything},
		{args: args("key revoke #1"), stdout: "revoked key #1\n"},
		{args: args("key revoke ragd_aaaaaaaaaaaa_not-a-known-secret"), code: 1, stderr: "ragd: there is no API key with the id aaaaaaaaaaaa, or this credential may not see it\n"},
		{args: args("key revoke not-an-id"), code: 1, stderr: "ragd: this is not the id of an API key, which has 12 characters: list the keys to see them\n"},
		{args: args("key list"), stdout: `
KEY  PREFIX  NAME  SCOPES  BOUND  CREATED  USED  STATE
#2  ragd_#2  read,write  2026-11-21T08:00:00Z  never  valid until 2026-11-21T08:00:00Z
#1  ragd_#1  web  read,write  2026-11-21T08:00:00Z  never  revoked 2026-11-21T08:00:00Z
#4  ragd_#4  admin  2026-11-21T08:00:00Z  never  valid
`},
		{
			args: args("key create --scopes read --index handbook,faq --attribute team=legal --attribute level=3"),
			stdout: `
key  #5
tenant  acme
scopes  read
indexes  faq, handbook
attributes  {"level":3,"team":"legal"}
secret  SECRET#5
`,
			stderr: "the secret is shown this once\n",
		},
		{args: args("key create --attribute team"), code: 2, stderr: "...--attribute takes name=value"},
		{args: args("key list"), stdout: `...#5  ragd_#5  read  indexes:faq,handbook  2026`},
		{args: args("key list --tenant other"), code: 1, stderr: "ragd: tenant \"other\" not found\n"},
		{args: args("tenant create other"), stdout: anything},
		{args: args("key list --tenant other"), stderr: "no keys\n"},
		{args: args("key create --expires soon"), code: 2, stderr: `...invalid argument "soon" for "--expires" flag`},
	} {
		s.want(t, want)
	}
}
