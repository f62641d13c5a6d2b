package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClientConfigIsKeptForItsOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "ragd", "client.conf")
	if none, err := ReadClient(path); err != nil || none != (Client{}) {
		t.Errorf("a missing file is %+v, %v", none, err)
	}
	for _, want := range []Client{
		{Server: "http://127.0.0.1:8484", Tenant: "demo", APIKey: "k", OperatorKey: "o"},
		{Server: "http://127.0.0.1:9999"},
	} {
		if err := want.Write(path); err != nil {
			t.Fatal(err)
		}
		got, err := ReadClient(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
}
