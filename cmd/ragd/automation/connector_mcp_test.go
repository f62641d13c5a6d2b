package automation

import (
	"strings"
	"testing"
)

func TestAConnectorIsNamedAfterItsHost(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://mcp.example.com/mcp": "mcp-example-com", "http://[::1]:80/": "1", "https://" + strings.Repeat("x", 100) + ".example/": strings.Repeat("x", maxConnectorName), "::": "mcp",
	} {
		if got := connectorNameOf(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}
