// Package mcpclient knows the MCP clients that people have: whether one is on this machine, what it needs to use the
// service, and how that is written to its settings.
package mcpclient

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Connection is how an MCP client reaches the service: it starts a program that calls it.
type Connection struct {
	Program string   // path of ragd
	Name    string   // of the server in the client's settings; Default for most
	Options []string // of `ragd mcp`
	Server  string   // address of the service; empty if ragd finds it itself
	Key     string   // empty if ragd finds it itself
}

// Default is the name of the server in the settings of clients.
const Default = "ragd"

// KeyPlaceholder stands for a key that the reader puts in.
const KeyPlaceholder = "ragd_..."

// Client is a program that uses MCP servers.
type Client struct {
	ID    string // for commands
	Name  string
	Where string // to put the snippet
	// Snippet returns what a person adds to the settings, or a command that does so.
	Snippet func(Connection) string

	// commands and paths show that the client is installed. Paths are relative to the home folder.
	commands []string
	paths    []string
	settings settings
}

// settings are the file of a client's settings that has the servers of a user.
type settings struct {
	// paths are relative to the home folder, by operating system; "" is for all others.
	paths map[string]string
	// key is that of the object with the servers in a JSON file; empty for a TOML file.
	key   string
	entry func(Connection) any
}

// Clients are the known clients.
var Clients = []Client{
	{
		ID: "claude-code", Name: "Claude Code", Where: "in a shell, in the project", commands: []string{"claude"}, paths: []string{".claude.json", ".claude"},
		Snippet: func(c Connection) string {
			return "claude mcp add " + c.Name + c.shellEnv(" --env ") + " -- " + quoted(c.Program) + " " + strings.Join(c.args(), " ")
		},
		settings: settings{map[string]string{"": ".claude.json"}, "mcpServers", typedServer},
	},
	{
		ID: "claude-desktop", Name: "Claude Desktop", Where: "in claude_desktop_config.json (Settings, Developer, Edit Config)",
		paths:   []string{"Library/Application Support/Claude", "AppData/Roaming/Claude", ".config/Claude"},
		Snippet: servers("mcpServers", server),
		settings: settings{map[string]string{
			"darwin": "Library/Application Support/Claude/claude_desktop_config.json", "windows": "AppData/Roaming/Claude/claude_desktop_config.json",
			"": ".config/Claude/claude_desktop_config.json",
		}, "mcpServers", server},
	},
	{
		ID: "cursor", Name: "Cursor", Where: "in ~/.cursor/mcp.json, or .cursor/mcp.json in a project", commands: []string{"cursor"}, paths: []string{".cursor"},
		Snippet:  servers("mcpServers", server),
		settings: settings{map[string]string{"": ".cursor/mcp.json"}, "mcpServers", server},
	},
	{
		ID: "vscode", Name: "VS Code", Where: "in .vscode/mcp.json", commands: []string{"code"},
		paths:   []string{"Library/Application Support/Code", "AppData/Roaming/Code", ".config/Code", ".vscode"},
		Snippet: servers("servers", typedServer),
		settings: settings{map[string]string{
			"darwin": "Library/Application Support/Code/User/mcp.json", "windows": "AppData/Roaming/Code/User/mcp.json", "": ".config/Code/User/mcp.json",
		}, "servers", typedServer},
	},
	{
		ID: "codex", Name: "Codex", Where: "in ~/.codex/config.toml", commands: []string{"codex"}, paths: []string{".codex"},
		Snippet: codex, settings: settings{paths: map[string]string{"": ".codex/config.toml"}},
	},
	{
		ID: "gemini", Name: "Gemini CLI", Where: "in a shell", commands: []string{"gemini"}, paths: []string{".gemini"},
		Snippet: func(c Connection) string {
			return "gemini mcp add --scope user" + c.shellEnv(" -e ") + " " + c.Name + " " + quoted(c.Program) + " " + strings.Join(c.args(), " ")
		},
		settings: settings{map[string]string{"": ".gemini/settings.json"}, "mcpServers", server},
	},
	{
		ID: "opencode", Name: "opencode", Where: "in ~/.config/opencode/opencode.json, or opencode.json in a project", commands: []string{"opencode"}, paths: []string{".config/opencode"},
		Snippet:  servers("mcp", openCode),
		settings: settings{map[string]string{"": ".config/opencode/opencode.json"}, "mcp", openCode},
	},
}

// Any is a client of no known name.
var Any = Client{Name: "MCP", Snippet: servers("mcpServers", server)}

// program is the server in the settings of most clients.
type program struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

func server(c Connection) any {
	return program{Command: c.Program, Args: c.args(), Env: c.environment()}
}

func typedServer(c Connection) any {
	return program{Type: "stdio", Command: c.Program, Args: c.args(), Env: c.environment()}
}

// openCode is the server in the settings of opencode.
func openCode(c Connection) any {
	return struct {
		Type        string            `json:"type"`
		Command     []string          `json:"command"`
		Environment map[string]string `json:"environment,omitempty"`
	}{"local", append([]string{c.Program}, c.args()...), c.environment()}
}

// servers returns the snippet of clients whose servers are in a JSON object under a key.
func servers(key string, entry func(Connection) any) func(Connection) string {
	return func(c Connection) string {
		return indented(map[string]any{key: map[string]any{c.Name: entry(c)}}, "")
	}
}

// codex returns the tables of a server in the settings of Codex.
func codex(c Connection) string {
	args := make([]string, 0, len(c.args()))
	for _, one := range c.args() {
		args = append(args, quotedJSON(one))
	}
	text := fmt.Sprintf("[%s%s]\ncommand = %s\nargs = [%s]", codexTable, c.Name, quotedJSON(c.Program), strings.Join(args, ", "))
	for i, pair := range c.env() {
		if i == 0 {
			text += "\n\n[" + codexTable + c.Name + ".env]"
		}
		text += fmt.Sprintf("\n%s = %s", pair[0], quotedJSON(pair[1]))
	}
	return text
}

// codexTable begins the names of the tables of servers.
const codexTable = "mcp_servers."

// indented returns a value as JSON whose lines after the first begin with a prefix.
func indented(value any, prefix string) string {
	text, err := json.MarshalIndent(value, prefix, "  ")
	if err != nil {
		panic(err) // texts alone
	}
	return string(text)
}

func (c Connection) args() []string { return append([]string{"mcp"}, c.Options...) }

// env returns the variables that the program needs, as name and value.
func (c Connection) env() [][2]string {
	var pairs [][2]string
	if c.Server != "" {
		pairs = append(pairs, [2]string{"RAGD_SERVER", c.Server})
	}
	if c.Key != "" {
		pairs = append(pairs, [2]string{"RAGD_API_KEY", c.Key})
	}
	return pairs
}

// environment returns the variables by name.
func (c Connection) environment() map[string]string {
	all := map[string]string{}
	for _, pair := range c.env() {
		all[pair[0]] = pair[1]
	}
	return all
}

// shellEnv returns the variables as arguments of a command, each after option.
func (c Connection) shellEnv(option string) string {
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

// Home returns the home folder of the user, empty if there is none.
func Home(getenv func(string) string) string {
	if runtime.GOOS == "windows" {
		return getenv("USERPROFILE")
	}
	return getenv("HOME")
}

// Installed returns the clients that are found on this machine.
func Installed(getenv func(string) string) []Client {
	var found []Client
	for _, client := range Clients {
		if client.isInstalled(Home(getenv), filepath.SplitList(getenv("PATH"))) {
			found = append(found, client)
		}
	}
	return found
}

// isInstalled looks for the commands in the folders of path, and for the paths below home.
func (m Client) isInstalled(home string, path []string) bool {
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
