package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/cmd/ragd/settings"
	"github.com/ragdhq/ragd/internal/model/endpoint"
)

func TestEndpointsFile(t *testing.T) {
	t.Parallel()
	read := func(text string) ([]*endpoint.Endpoint, error) {
		path := filepath.Join(t.TempDir(), "endpoints.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := settings.Settings{EndpointsFile: path}
		s.Service.ProviderCalls = 7
		return s.Endpoints()
	}
	got, err := read(`[
		{"endpointName": "tei-embed", "kind": "tei", "baseUrl": "http://10.0.0.5:8080", "models": [{"model": "BAAI/bge-m3", "dimension": 1024}]},
		{"endpointName": "tei-rerank", "kind": "tei", "baseUrl": "http://10.0.0.6:8080", "apiKey": "k", "maxConcurrentCalls": 2, "timeoutMs": 500}
	]`)
	if err != nil || len(got) != 2 || got[0].Name != "tei-embed" || got[0].Config.MaxConcurrent != 7 || got[0].Config.Models[0] != "BAAI/bge-m3" ||
		got[1].Config.APIKey != "k" || got[1].Config.MaxConcurrent != 2 || got[1].Config.Timeout.Milliseconds() != 500 {
		t.Fatalf("%v, %v", got, err)
	}
	for text, want := range map[string]string{
		`{}`: "is no JSON list",
		`[{"endpointName": "a", "kind": "x", "apiKey": "sk-secret"}]`:                      "kind: must be one of",
		`[{"endpointName": "a", "kind": "tei", "apiKey": "sk-secret"}]`:                    "baseUrl: is needed",
		`[{"endpointName": "tei", "kind": "tei", "baseUrl": "http://a"}]`:                  "tei-base-url",
		`[{"endpointName": "local", "kind": "voyage"}]`:                                    "endpointName",
		`[{"endpointName": "a", "kind": "voyage"}, {"endpointName": "a", "kind": "jina"}]`: "endpoint 2: the name",
		`[{"endpointName": "a", "kind": "voyage", "apikey": "sk-secret"}]`:                 "endpoint 1",
		`[{"endpointName": "a", "kind": "voyage", "baseUrl": "ftp://sk-secret@b"}]`:        "baseUrl",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestEndpointCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	const shown = `
endpoint       e
kind           voyage
address        https://api.voyageai.com
key            none
model          voyage-*
model          x, of dimension 9
calls at once  3
timeout        1m0s
created        2026-11-21T08:00:00Z
updated        2026-11-21T08:00:00Z
`
	for _, want := range []step{
		{args: args("endpoint create e --kind voyage --endpoint-key k"), code: 2, stderr: anything},
		{args: args("endpoint create e --kind tei"), code: 1, stderr: "ragd: baseUrl: is needed: endpoints of the kind tei have no public address\n"},
		{args: args(`endpoint create e --kind voyage --max-calls 3 --timeout 1m --models {"models":[{"model":"x","dimension":9}]} --model voyage-*`), stdout: strings.Replace(strings.Replace(shown,
			"model          voyage-*\n", "", 1), "of dimension 9\n", "of dimension 9\nmodel          voyage-*\n", 1)},
		{args: args("endpoint update e --timeout 2s --model voyage-3.5"), stdout: "...model          voyage-3.5\ncalls at once  3\ntimeout        2s\n"},
		{args: args("endpoint get e --json"), stdout: `..."endpointName": "e",`},
		{args: args("endpoint list"), stdout: "...e         voyage"},
		{args: args("endpoint test e"), code: 1, stderr: "ragd: model: is needed, because endpoints of the kind voyage cannot list their models\n"},
		{args: args("endpoint delete e"), stdout: "deleted endpoint e\n"},
		{args: args("endpoint get e"), code: 1, stderr: "ragd: endpoint \"e\" not found\n"},
	} {
		s.want(t, want)
	}
}

// A key comes from the environment or a file. The service of this test has no master key.
func TestEndpointKeysComeFromTheEnvironmentOrAFile(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	const refused = "ragd: this server cannot store keys of endpoints: its operator sets RAGD_MASTER_KEY, with which they are encrypted\n"
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("sk-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{args: args("endpoint create e --kind voyage --key-file " + path), code: 1, stderr: refused})
	s.env["RAGD_ENDPOINT_KEY"] = "sk-2"
	s.want(t, step{args: args("endpoint create e --kind voyage"), code: 1, stderr: refused})
}
