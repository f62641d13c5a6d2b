package mcpclient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var here = Connection{Program: "/usr/local/bin/ragd", Name: Default}

func client(t *testing.T, id string) Client {
	t.Helper()
	for _, c := range Clients {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no client %q", id)
	return Client{}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Each client gets the server in new settings, keeps it when it gets it again, and loses it.
func TestServersAreInstalledAndRemoved(t *testing.T) {
	t.Parallel()
	remote := Connection{Program: `C:\Program Files\ragd.exe`, Name: "hand/book", Options: []string{"--mcp-server", "handbook"}, Server: "https://rag.example.com", Key: "ragd_secret"}
	for _, m := range Clients {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			for _, c := range []Connection{here, remote} {
				done, err := m.Install(home, c)
				if err != nil || !done.Changed || done.Had {
					t.Fatalf("%+v: %v", done, err)
				}
				again, err := m.Install(home, c)
				if err != nil || again.Changed || !again.Had {
					t.Errorf("again: %+v: %v", again, err)
				}
				text := read(t, done.Path)
				for _, part := range append(c.args(), c.Name, "ragd_secret"[:len(c.Key)]) {
					if !strings.Contains(text, part) {
						t.Errorf("no %q in %s", part, text)
					}
				}
				if m.settings.key != "" && !json.Valid([]byte(text)) {
					t.Errorf("no JSON: %s", text)
				}
				if info, err := os.Stat(done.Path); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
					t.Errorf("%v %v", info.Mode(), err)
				}
			}
			moved := here
			moved.Program = "/opt/ragd"
			if done, err := m.Install(home, moved); err != nil || !done.Changed || !done.Had {
				t.Errorf("another program: %+v: %v", done, err)
			}
			for _, name := range []string{here.Name, remote.Name} {
				done, err := m.Uninstall(home, name)
				if err != nil || !done.Changed || !done.Had {
					t.Errorf("uninstall: %+v: %v", done, err)
				}
				if text := read(t, done.Path); strings.Contains(text, `"`+name+`"`) || strings.Contains(text, "."+name+"]") {
					t.Errorf("still there: %s", text)
				}
			}
			if done, err := m.Uninstall(home, "ragd"); err != nil || done.Changed || done.Had {
				t.Errorf("uninstall again: %+v: %v", done, err)
			}
		})
	}
}

// What a person has written stays, with comments, order and links.
func TestOtherSettingsStay(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, "dotfiles", "mcp.json")
	const before = `// mine
{
	"zeta": [1,2], // kept
	"mcpServers": {
		"other": {"command": "x"}
	},
}
`
	for _, folder := range []string{filepath.Dir(path), filepath.Join(home, ".cursor"), filepath.Join(home, ".codex")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte(before), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, filepath.Join(home, ".cursor", "mcp.json")); err != nil {
		if runtime.GOOS != "windows" {
			t.Fatal(err)
		}
		t.Skip(err) // not every account there may link
	}
	cursor := client(t, "cursor")
	if _, err := cursor.Install(home, here); err != nil {
		t.Fatal(err)
	}
	after := read(t, path)
	for _, part := range []string{"// mine", `"zeta": [1,2], // kept`, `"other": {"command": "x"}`, `"/usr/local/bin/ragd"`} {
		if !strings.Contains(after, part) {
			t.Errorf("no %s in %s", part, after)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := cursor.Uninstall(home, Default); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != before {
		t.Errorf("afterwards: %s", got)
	}

	const toml = "model = \"x\"\n\n[mcp_servers.ragd]\ncommand = \"old\"\n\n[mcp_servers.ragd.env]\nA = \"1\"\n\n[mcp_servers.ragdoll]\ncommand = \"keep\"\nnote = \"\"\"\n[mcp_servers.ragd]\n\"\"\"\n"
	file := filepath.Join(home, ".codex", "config.toml")
	if err := os.WriteFile(file, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	if done, err := client(t, "codex").Install(home, here); err != nil || !done.Had {
		t.Fatalf("%+v %v", done, err)
	}
	const want = "model = \"x\"\n\n[mcp_servers.ragdoll]\ncommand = \"keep\"\nnote = \"\"\"\n[mcp_servers.ragd]\n\"\"\"\n\n[mcp_servers.ragd]\ncommand = \"/usr/local/bin/ragd\"\nargs = [\"mcp\"]\n"
	if got := read(t, file); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestSettingsThatAreNotUnderstoodAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"no JSON": "{", "a list": "[]", "servers that are none": `{"mcpServers": 3}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			path := filepath.Join(home, ".cursor", "mcp.json")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := client(t, "cursor").Install(home, here); err == nil || !strings.Contains(err.Error(), "left alone") {
				t.Errorf("%v", err)
			}
			if got := read(t, path); got != text {
				t.Errorf("changed to %s", got)
			}
			if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
				t.Errorf("%v %v", all, err)
			}
		})
	}
}
