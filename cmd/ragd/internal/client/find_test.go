package client

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
)

// listener returns the address of something that accepts connections.
func listener(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}

func TestCommandsFindTheirService(t *testing.T) {
	t.Parallel()
	one, two := listener(t), listener(t)
	const down, other = "http://127.0.0.1:1", "http://127.0.0.1:2"
	for _, c := range []struct {
		name     string
		services []config.Client
		flag     string
		server   string
		key      string
	}{
		{"none has run here", nil, "", defaultServer, ""},
		{"the only one", []config.Client{{DataDir: "/a", Server: down, APIKey: "a"}}, "", down, "a"},
		{"the last one of an address", []config.Client{{DataDir: "/a", Server: one, APIKey: "a"}, {DataDir: "/b", Server: one, APIKey: "b"}}, "", one, "b"},
		{"the one that runs", []config.Client{{DataDir: "/a", Server: one, APIKey: "a"}, {DataDir: "/b", Server: down, APIKey: "b"}}, "", one, "a"},
		{"the last one if none runs", []config.Client{{DataDir: "/a", Server: down, APIKey: "a"}, {DataDir: "/b", Server: other, APIKey: "b"}}, "", other, "b"},
		{"the one that is named", []config.Client{{DataDir: "/a", Server: one, APIKey: "a"}, {DataDir: "/b", Server: two, APIKey: "b"}}, two, two, "b"},
		{"no key for another", []config.Client{{DataDir: "/a", Server: one, APIKey: "a"}}, down, down, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"XDG_CONFIG_HOME": t.TempDir()}
			for _, service := range c.services {
				if err := service.Write(filepath.Join(env["XDG_CONFIG_HOME"], "ragd", "client.conf")); err != nil {
					t.Fatal(err)
				}
			}
			server, local, err := findServer(c.flag, func(key string) string { return env[key] })
			if err != nil || server != c.server || local.APIKey != c.key {
				t.Errorf("found %s with key %q, %v; want %s with key %q", server, local.APIKey, err, c.server, c.key)
			}
		})
	}
	both := []config.Client{{DataDir: "/a", Server: one}, {DataDir: "/b", Server: two}}
	_, err := runningOf(both)
	if usage := (misuse.Error{}); !errors.As(err, &usage) || !strings.Contains(err.Error(), one+" (data directory /a), "+two+" (data directory /b)") {
		t.Errorf("two services that run: %v", err)
	}
}
