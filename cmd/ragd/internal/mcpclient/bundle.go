package mcpclient

import (
	"archive/zip"
	"encoding/json"
	"io"
	"os"
	"path"
	"runtime"
)

// Bundle is an extension for Claude Desktop and other clients that install .mcpb files: ragd itself, with a form for the
// address and the key, which the client keeps in the secure storage of the system.
type Bundle struct {
	Program string // path of the ragd to pack
	Version string
	Server  string // what the form proposes
	Options []string
}

// Write writes the bundle as a ZIP file.
func (b Bundle) Write(to io.Writer) error {
	manifest, err := json.MarshalIndent(b.manifest(), "", "  ")
	if err != nil {
		return err
	}
	archive := zip.NewWriter(to)
	file, err := archive.Create("manifest.json")
	if err != nil {
		return err
	}
	if _, err := file.Write(append(manifest, '\n')); err != nil {
		return err
	}
	program, err := os.Open(b.Program)
	if err != nil {
		return err
	}
	defer program.Close()
	header := &zip.FileHeader{Name: b.entry(), Method: zip.Deflate}
	header.SetMode(0o755)
	if file, err = archive.CreateHeader(header); err != nil {
		return err
	}
	if _, err := io.Copy(file, program); err != nil {
		return err
	}
	return archive.Close()
}

// entry returns the path of ragd in the bundle.
func (b Bundle) entry() string {
	if runtime.GOOS == "windows" {
		return "server/ragd.exe"
	}
	return "server/ragd"
}

// manifest returns manifest.json in version 0.3 of the format.
func (b Bundle) manifest() any {
	type object = map[string]any
	platform := runtime.GOOS
	if platform == "windows" {
		platform = "win32"
	}
	return object{
		"manifest_version": "0.3",
		"name":             Default, "display_name": "ragd", "version": b.Version,
		"description": "Search the documents of your team: passages with their sources, graph walks, uploads.",
		"author":      object{"name": "ragd"},
		"license":     "Apache-2.0",
		"server": object{
			"type": "binary", "entry_point": b.entry(),
			"mcp_config": object{
				"command": path.Join("${__dirname}", b.entry()), "args": append([]string{"mcp"}, b.Options...),
				"env": map[string]string{"RAGD_SERVER": "${user_config.server}", "RAGD_API_KEY": "${user_config.key}"},
			},
		},
		"tools_generated":   true,
		"prompts_generated": true,
		"compatibility":     object{"platforms": []string{platform}},
		"user_config": object{
			"server": object{"type": "string", "title": "Address", "description": "Address of the service, such as https://rag.example.com", "default": b.Server, "required": true},
			"key":    object{"type": "string", "title": "API key", "description": "ragd key create --scopes read makes one", "sensitive": true, "required": true},
		},
	}
}
