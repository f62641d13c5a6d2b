package main

import "testing"

func TestIssuerCommandsNeedAPublicAddress(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for _, want := range []step{
		{args: args("issuer list"), stderr: "no issuers\n"},
		{args: args("issuer create okta https://id.example.com"), code: 1, stderr: "ragd: this server cannot accept access tokens: its operator sets public-url, the address that tokens are issued for\n"},
		{args: args("issuer get okta"), code: 1, stderr: "ragd: issuer \"okta\" not found\n"},
		{args: args("issuer update okta --scopes read"), code: 1, stderr: "ragd: issuer \"okta\" not found\n"},
		{args: args("issuer delete okta"), code: 1, stderr: "ragd: issuer \"okta\" not found\n"},
	} {
		s.want(t, want)
	}
}
