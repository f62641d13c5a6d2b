package oauthclient

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestChallengesAreRead(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]challenge{
		`Bearer resource_metadata="https://a.example/x", scope="read write"`:    {"https://a.example/x", []string{"read", "write"}},
		`Bearer error="invalid_token", Resource_Metadata = https://a.example/x`: {"https://a.example/x", nil},
		`Basic realm="resource_metadata"`:                                       {},
		`Bearer xresource_metadata="https://evil.example"`:                      {},
		``: {},
	} {
		got := readChallenge([]string{header})
		if got.metadata != want.metadata || !slices.Equal(got.scopes, want.scopes) {
			t.Errorf("%s: %+v", header, got)
		}
	}
}

func TestOnlyTheResourceItselfIsBelieved(t *testing.T) {
	t.Parallel()
	resource, err := url.Parse("https://mcp.example.com/team/mcp")
	if err != nil {
		t.Fatal(err)
	}
	for _, named := range []string{"https://mcp.example.com/team/mcp", "https://mcp.example.com/team", "https://mcp.example.com/", "https://MCP.example.com"} {
		if got, err := same(resource, named); err != nil || got != named {
			t.Errorf("%s: %v", named, err)
		}
	}
	for _, named := range []string{"", "https://mcp.example.com/te", "https://mcp.example.com/team/mcp/other", "http://mcp.example.com/team/mcp", "https://mcp.example.com:8443/team/mcp", "https://mcp.example.com.evil.example/team/mcp", "https://user@mcp.example.com/team/mcp", "https://mcp.example.com/team/mcp#x", "://"} {
		if _, err := same(resource, named); err == nil {
			t.Errorf("%s is believed", named)
		}
	}
}

func TestAddressesOfAuthorizationServersAreEncrypted(t *testing.T) {
	t.Parallel()
	for address, fine := range map[string]bool{
		"https://login.example.com/token?policy=x": true, "http://login.example.com/token": false, "javascript:alert(1)": false, "//login.example.com": false,
		"https://a:b@login.example.com": false, "https://login.example.com/#x": false, "https://login.example.com/" + strings.Repeat("x", maxAddressBytes): false,
	} {
		if _, err := endpoint("token_endpoint", address, "https"); (err == nil) != fine {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := endpoint("token_endpoint", "http://127.0.0.1/token", "http"); err != nil {
		t.Errorf("a server without encryption: %v", err)
	}
}

func FuzzReadChallenge(f *testing.F) {
	f.Add(`Bearer resource_metadata="https://a.example/x", scope="read write"`)
	f.Add(`Bearer scope=, resource_metadata=""`)
	f.Fuzz(func(t *testing.T, header string) {
		got := readChallenge([]string{header})
		if strings.Contains(got.metadata, `"`) || !strings.Contains(header, got.metadata) {
			t.Errorf("%q is no part of %q", got.metadata, header)
		}
		for _, scope := range scopesOf(got.scopes) {
			if scope == "" || len(scope) > maxScopeBytes || strings.ContainsAny(scope, " \"\\\n") {
				t.Errorf("scope %q", scope)
			}
		}
	})
}
