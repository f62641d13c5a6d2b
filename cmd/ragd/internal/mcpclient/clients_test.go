package mcpclient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestInstalledClientsAreFoundByTheirFilesAndCommands(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the home folder has another variable")
	}
	home, bin := t.TempDir(), t.TempDir()
	env := map[string]string{"HOME": home, "PATH": "/absent" + string(os.PathListSeparator) + bin}
	names := func() string {
		var all []string
		for _, client := range Installed(func(key string) string { return env[key] }) {
			all = append(all, client.Name)
		}
		return strings.Join(all, ", ")
	}
	if got := names(); got != "" {
		t.Errorf("found %s on an empty machine", got)
	}
	for _, folder := range []string{".cursor", ".config/Claude", ".codex"} {
		if err := os.MkdirAll(filepath.Join(home, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"claude", "gemini", "code"} {
		if err := os.WriteFile(filepath.Join(bin, command), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := names(), "Claude Code, Claude Desktop, Cursor, VS Code, Codex, Gemini CLI"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}

func TestSnippets(t *testing.T) {
	t.Parallel()
	if got := quoted("/opt/o'er/ragd"); got != `'/opt/o'\''er/ragd'` {
		t.Errorf("a path with a quote is %s", got)
	}
	local := Connection{Program: "/opt/my ragd/ragd", Name: Default}
	remote := Connection{Program: "/usr/bin/ragd", Name: Default, Server: "https://ragd.example.com", Key: KeyPlaceholder}
	want := map[string][2]string{
		"Claude Code": {"claude mcp add ragd -- '/opt/my ragd/ragd' mcp", "claude mcp add ragd --env RAGD_SERVER=https://ragd.example.com --env RAGD_API_KEY=$RAGD_API_KEY -- /usr/bin/ragd mcp"},
		"Codex": {
			"[mcp_servers.ragd]\ncommand = \"/opt/my ragd/ragd\"\nargs = [\"mcp\"]",
			"[mcp_servers.ragd]\ncommand = \"/usr/bin/ragd\"\nargs = [\"mcp\"]\n\n[mcp_servers.ragd.env]\nRAGD_SERVER = \"https://ragd.example.com\"\nRAGD_API_KEY = \"ragd_...\"",
		},
		"opencode": {
			"{\n  \"mcp\": {\n    \"ragd\": {\n      \"type\": \"local\",\n      \"command\": [\n        \"/opt/my ragd/ragd\",\n        \"mcp\"\n      ]\n    }\n  }\n}",
			"{\n  \"mcp\": {\n    \"ragd\": {\n      \"type\": \"local\",\n      \"command\": [\n        \"/usr/bin/ragd\",\n        \"mcp\"\n      ],\n      \"environment\": {\n        \"RAGD_API_KEY\": \"ragd_...\",\n        \"RAGD_SERVER\": \"https://ragd.example.com\"\n      }\n    }\n  }\n}",
		},
		"Gemini CLI": {"gemini mcp add --scope user ragd '/opt/my ragd/ragd' mcp", "gemini mcp add --scope user -e RAGD_SERVER=https://ragd.example.com -e RAGD_API_KEY=$RAGD_API_KEY ragd /usr/bin/ragd mcp"},
	}
	for _, client := range append([]Client{Any}, Clients...) {
		for i, how := range []Connection{local, remote} {
			got := client.Snippet(how)
			if text, ok := want[client.Name]; ok {
				if got != text[i] {
					t.Errorf("%s: %s\nwant %s", client.Name, got, text[i])
				}
				continue
			}
			var read map[string]map[string]struct {
				Command string
				Args    []string
				Env     map[string]string
			}
			if err := json.Unmarshal([]byte(got), &read); err != nil || len(read) != 1 {
				t.Fatalf("%s: %v: %s", client.Name, err, got)
			}
			for _, servers := range read {
				if s := servers["ragd"]; s.Command != how.Program || s.Args[0] != "mcp" || s.Env["RAGD_SERVER"] != how.Server || s.Env["RAGD_API_KEY"] != how.Key {
					t.Errorf("%s: %s", client.Name, got)
				}
			}
		}
	}
}
