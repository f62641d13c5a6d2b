package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/long"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

const killedWorkflow = `
description: Three steps, of which the second takes long.
steps:
  - {id: first, kind: http, settings: {method: POST, url: "URL/first", inputSchema: {type: object}}, input: {}}
  - {id: second, kind: http, settings: {method: POST, url: "URL/second", inputSchema: {type: object}}, input: {}}
  - id: each
    kind: foreach
    items: {value: [1, 2, 3]}
    steps:
      - {id: third, kind: http, settings: {method: POST, url: "URL/third", inputSchema: {type: object}}, input: {}}
outputFrom: {expression: "{'items': size(steps.each)}"}
`

// The service is killed while a step runs. When it is started again, the run goes on with that
// step: what had ended is not done again, and the step that was running has the same idempotency key.
func TestARunGoesOnAfterItsLastStepAlthoughRagdIsKilled(t *testing.T) {
	long.Only(t)
	t.Parallel()
	needsDatabase(t)
	var mu sync.Mutex
	keys := map[string][]string{}
	reached, killed := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys[r.URL.Path] = append(keys[r.URL.Path], r.Header.Get("Idempotency-Key"))
		calls := len(keys[r.URL.Path])
		mu.Unlock()
		if r.URL.Path == "/second" && calls == 1 {
			close(reached)
			<-killed
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{}`)
	}))
	t.Cleanup(server.Close)
	h := newHome(t, "RAGD_ALLOWED_PRIVATE_NETWORKS=127.0.0.1")
	service := h.serve()
	file := filepath.Join(h.dir, "workflow.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(killedWorkflow, "URL", server.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	h.ragd("workflow", "create", "steps", "--file", file)
	id := strings.TrimSpace(h.ragd("workflow", "run", "steps", "--start"))
	<-reached
	stop(t, service, syscall.SIGKILL)
	close(killed)
	h.serve()
	var run struct {
		Status, Error string
		Output        struct{ Items int }
	}
	wait.For(t, "the end of the run", func() bool {
		if err := json.Unmarshal([]byte(h.ragd("workflow", "show", id, "--json")), &run); err != nil {
			t.Fatal(err)
		}
		if run.Status == "failed" {
			t.Fatalf("the run is %s: %s", run.Status, run.Error)
		}
		return run.Status == "succeeded"
	})
	mu.Lock()
	defer mu.Unlock()
	if len(keys["/first"]) != 1 || len(keys["/second"]) != 2 || len(keys["/third"]) != 3 || run.Output.Items != 3 {
		t.Errorf("the steps were called so often: %v", keys)
	}
	if again := keys["/second"]; again[0] != id+"/second" || again[1] != again[0] {
		t.Errorf("the interrupted step has the keys %v", again)
	}
	slices.Sort(keys["/third"])
	if slices.Equal(keys["/third"], slices.Compact(slices.Clone(keys["/third"]))) == false {
		t.Errorf("items share keys: %v", keys["/third"])
	}
	if list := h.ragd("workflow", "runs", "steps"); !strings.Contains(list, id) || !strings.Contains(list, "succeeded") {
		t.Errorf("runs: %s", list)
	}
}
