package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClientConfigHasASectionForEachDataDirectory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "ragd", "client.conf")
	if none, err := ReadClients(path); err != nil || len(none) > 0 {
		t.Errorf("a missing file is %+v, %v", none, err)
	}
	first := Client{DataDir: "/data/one", Server: "http://127.0.0.1:8484", Tenant: "demo", APIKey: "k", OperatorKey: "o"}
	second := Client{DataDir: "/data/with [space]", Server: "http://127.0.0.1:9999", OperatorKey: "p"}
	moved := first
	moved.Server = "http://127.0.0.1:7777"
	for _, step := range []struct {
		write Client
		want  []Client
	}{{first, []Client{first}}, {second, []Client{first, second}}, {moved, []Client{second, moved}}} {
		if err := step.write.Write(path); err != nil {
			t.Fatal(err)
		}
		got, err := ReadClients(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Error(diff)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 2 { // with the lock
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestServicesThatStartTogetherKeepEachOthersSections(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "client.conf")
	var started sync.WaitGroup
	for _, dir := range strings.Split("/a /b /c /d /e /f /g /h", " ") {
		started.Go(func() {
			if err := (Client{DataDir: dir, Server: "http://127.0.0.1:1"}).Write(path); err != nil {
				t.Error(err)
			}
		})
	}
	started.Wait()
	if clients, err := ReadClients(path); err != nil || len(clients) != 8 {
		t.Errorf("%d sections, %v: %+v", len(clients), err, clients)
	}
}

func TestADamagedClientConfigIsNotReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "client.conf")
	for _, text := range []string{"server = x\n", "[/a]\nsevrer = x\n", "[/a]\nwhat\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (Client{DataDir: "/b"}).Write(path); err == nil || !strings.Contains(err.Error(), path+":") {
			t.Errorf("%q: error %v, want one that names the line", text, err)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != text {
			t.Errorf("%q has become %q, %v", text, left, err)
		}
	}
}
