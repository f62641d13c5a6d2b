package quickstart

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// connection is how an MCP client reaches the service: it starts a program that calls it.
type connection struct {
	program  string // path of ragd
	server   string // empty if ragd finds the service itself
	needsKey bool   // the key is not in client.conf
}

// mcpClient is a program that uses MCP servers.
type mcpClient struct {
	name  string
	where string // to put the snippet
	// commands and paths show that the client is installed. Paths are relative to the home folder.
	commands []string
	paths    []string
	snippet  func(connection) string
}

// clients are the MCP clients that are looked for.
var clients = []mcpClient{
	{"Claude Code", "in a shell, in the project", []string{"claude"}, []string{".claude.json", ".claude"}, func(c connection) string {
		return "claude mcp add ragd" + c.shellEnv(" --env ") + " -- " + quoted(c.program) + " mcp"
	}},
	{
		"Claude Desktop", "in claude_desktop_config.json (Settings, Developer, Edit Config)", nil,
		[]string{"Library/Application Support/Claude", "AppData/Roaming/Claude", ".config/Claude"}, servers("mcpServers", false),
	},
	{"Cursor", "in ~/.cursor/mcp.json, or .cursor/mcp.json in a project", []string{"cursor"}, []string{".cursor"}, servers("mcpServers", false)},
	{
		"VS Code", "in .vscode/mcp.json", []string{"code"},
		[]string{"Library/Application Support/Code", "AppData/Roaming/Code", ".config/Code", ".vscode"}, servers("servers", true),
	},
	{"Codex", "in ~/.codex/config.toml", []string{"codex"}, []string{".codex"}, func(c connection) string {
		text := fmt.Sprintf("[mcp_servers.ragd]\ncommand = %s\nargs = [\"mcp\"]", quotedJSON(c.program))
		for i, pair := range c.env() {
			if i == 0 {
				text += "\n\n[mcp_servers.ragd.env]"
			}
			text += fmt.Sprintf("\n%s = %s", pair[0], quotedJSON(pair[1]))
		}
		return text
	}},
	{"Gemini CLI", "in a shell", []string{"gemini"}, []string{".gemini"}, func(c connection) string {
		return "gemini mcp add --scope user" + c.shellEnv(" -e ") + " ragd " + quoted(c.program) + " mcp"
	}},
	{"opencode", "in ~/.config/opencode/opencode.json, or opencode.json in a project", []string{"opencode"}, []string{".config/opencode"}, openCode},
}

// anyClient is a client of no known name.
var anyClient = mcpClient{name: "MCP", snippet: servers("mcpServers", false)}

// servers returns the snippet of clients whose servers are in a JSON object under a key.
func servers(key string, typed bool) func(connection) string {
	return func(c connection) string {
		type server struct {
			Type    string            `json:"type,omitempty"`
			Command string            `json:"command"`
			Args    []string          `json:"args"`
			Env     map[string]string `json:"env,omitempty"`
		}
		entry := server{Command: c.program, Args: []string{"mcp"}, Env: c.environment()}
		if typed {
			entry.Type = "stdio"
		}
		return indented(map[string]any{key: map[string]any{"ragd": entry}})
	}
}

// openCode returns the snippet of opencode, whose servers have a form of their own.
func openCode(c connection) string {
	type server struct {
		Type        string            `json:"type"`
		Command     []string          `json:"command"`
		Environment map[string]string `json:"environment,omitempty"`
	}
	entry := server{Type: "local", Command: []string{c.program, "mcp"}, Environment: c.environment()}
	return indented(map[string]any{"mcp": map[string]any{"ragd": entry}})
}

// indented returns a value as JSON.
func indented(value any) string {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err) // texts alone
	}
	return string(text)
}

// env returns the variables that the program needs, as name and value.
func (c connection) env() [][2]string {
	var pairs [][2]string
	if c.server != "" {
		pairs = append(pairs, [2]string{"RAGD_SERVER", c.server})
	}
	if c.needsKey {
		pairs = append(pairs, [2]string{"RAGD_API_KEY", "ragd_..."})
	}
	return pairs
}

// environment returns the variables by name.
func (c connection) environment() map[string]string {
	all := map[string]string{}
	for _, pair := range c.env() {
		all[pair[0]] = pair[1]
	}
	return all
}

// shellEnv returns the variables as arguments of a command, each after option.
func (c connection) shellEnv(option string) string {
	text := ""
	for _, pair := range c.env() {
		value := pair[1]
		if pair[0] == "RAGD_API_KEY" {
			value = "$RAGD_API_KEY"
		}
		text += option + pair[0] + "=" + value
	}
	return text
}

// quoted returns a path as an argument in a shell.
func quoted(path string) string {
	if !strings.ContainsAny(path, " '\"\\$`&|;<>()*?[]#~") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func quotedJSON(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err) // no text makes one
	}
	return string(encoded)
}

// installed returns the clients that are found on this machine.
func installed(getenv func(string) string) []mcpClient {
	home := getenv("HOME")
	if runtime.GOOS == "windows" {
		home = getenv("USERPROFILE")
	}
	var found []mcpClient
	for _, client := range clients {
		if client.isInstalled(home, filepath.SplitList(getenv("PATH"))) {
			found = append(found, client)
		}
	}
	return found
}

// isInstalled looks for the commands in the folders of path, and for the paths below home.
func (m mcpClient) isInstalled(home string, path []string) bool {
	for _, command := range m.commands {
		for _, folder := range path {
			for _, end := range []string{"", ".exe", ".cmd"} {
				info, err := os.Stat(filepath.Join(folder, command+end))
				if err == nil && info.Mode().IsRegular() {
					return true
				}
			}
		}
	}
	for _, file := range m.paths {
		if _, err := os.Stat(filepath.Join(home, filepath.FromSlash(file))); home != "" && err == nil {
			return true
		}
	}
	return false
}
