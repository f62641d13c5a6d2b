package mcpclient

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The extension file has the manifest that desktop clients read, and a program that can be run.
func TestBundle(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "ragd")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	b := Bundle{Program: program, Version: "1.2.3", Server: "https://rag.example.com", Options: []string{"--mcp-server", "handbook"}}
	if err := b.Write(&file); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := archive.Open("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Version string
		Server  struct {
			EntryPoint string `json:"entry_point"`
			Config     struct {
				Args []string
				Env  map[string]string
			} `json:"mcp_config"`
		}
		UserConfig map[string]struct {
			Default   string
			Sensitive bool
		} `json:"user_config"`
	}
	if err := json.NewDecoder(raw).Decode(&manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Version != "1.2.3" || strings.Join(manifest.Server.Config.Args, " ") != "mcp --mcp-server handbook" ||
		manifest.UserConfig["server"].Default != "https://rag.example.com" || !manifest.UserConfig["key"].Sensitive || manifest.Server.Config.Env["RAGD_API_KEY"] != "${user_config.key}" {
		t.Errorf("%+v", manifest)
	}
	packed := archive.File[1]
	if packed.Name != manifest.Server.EntryPoint || packed.Mode()&0o100 == 0 {
		t.Errorf("%s %v", packed.Name, packed.Mode())
	}
	content, err := packed.Open()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(content); err != nil || string(text) != "#!/bin/sh\n" {
		t.Errorf("%q %v", text, err)
	}
	if err := (Bundle{Program: program + "s"}).Write(io.Discard); err == nil {
		t.Error("a bundle without a program was written")
	}
}
