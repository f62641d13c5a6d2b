package main

import "testing"

func TestKeyCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for _, want := range []step{
		{
			args: []string{"key", "create", "--name", "web", "--scopes", "read,write", "--filter", `{"team":"legal"}`},
			stdout: `
key     key2
tenant  acme
name    web
scopes  read, write
filter  {"team":"legal"}
secret  secret-key2
`,
			stderr: "the secret is shown this once\n",
		},
		{args: args("key create --tenant acme --expires 1h --json"), stdout: `..."secret": "secret-key3"`},
		{args: args("key create --scopes operator --json"), stdout: `..."tenantId": "",`, stderr: anything},
		{args: args("key revoke key2"), stdout: "revoked key key2\n"},
		{args: args("key list"), stdout: `...
key1  rk_ke                     2026-11-21T08:00:00Z  valid
key2  rk_ke   web   read,write  2026-11-21T08:00:00Z  revoked 2026-11-21T08:00:00Z
key3  rk_ke                     2026-11-21T08:00:00Z  valid until `},
		{args: args("key list --tenant other"), stderr: "no keys\n"},
		{args: args("key create --expires soon"), code: 2, stderr: `...invalid argument "soon" for "--expires" flag`},
	} {
		s.want(t, want)
	}
}
