package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/service/testing/long"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// moveKills returns how often the service is killed.
func moveKills() int {
	if os.Getenv("RAGD_TEST_HUGE") != "" {
		return 30
	}
	return 4
}

// movePhase returns the phase of the newest move of a tenant.
func (h *home) movePhase(tenant string) string {
	h.t.Helper()
	var move struct{ Phase string }
	first, _, _ := strings.Cut(h.eventually("tenant", "moves", tenant, "--json", "--limit", "1"), "\n")
	if err := json.Unmarshal([]byte(first), &move); err != nil {
		h.t.Fatalf("%v: %s", err, first)
	}
	return move.Phase
}

// livesIn returns the database in which a tenant lives.
func (h *home) livesIn(tenant string) string {
	h.t.Helper()
	var lives struct{ Database string }
	if err := json.Unmarshal([]byte(h.eventually("tenant", "get", tenant, "--json")), &lives); err != nil {
		h.t.Fatal(err)
	}
	return lives.Database
}

// The service is killed at random moments of moves of a tenant to another server and back. After each the tenant has one
// owner and all its documents, answers, and accepts a document; and the move goes on to its end.
func TestKilledWhileATenantIsMoved(t *testing.T) {
	long.Only(t)
	t.Parallel()
	needsDatabase(t)
	h := newHome(t, "RAGD_MASTER_KEY="+strings.Repeat("0123456789abcdef", 4))
	service := h.serve()
	url := filepath.Join(h.dir, "east.url")
	if err := os.WriteFile(url, []byte(pgtest.URL(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	h.ragd("databases", "add", "east", "--file", url)
	corpus := filepath.Join(h.dir, "corpus.jsonl")
	writeCorpus(t, corpus, 100)
	h.ragd("index", "create", "log")
	h.ragd("ingest", "--index", "log", "--jsonl", corpus)
	before := h.chunkCounts("log")
	const tenant = "default"
	for i := range moveKills() {
		to := []string{"east", "main"}[i%2]
		h.eventually("tenant", "move", tenant, to)
		<-time.After(rand.N(1500 * time.Millisecond)) // at any step of the move, or after it
		stop(t, service, syscall.SIGKILL)
		service = h.serve()
		for range wait.Poll(t, "the end of the move") {
			earlier, phase, later := h.livesIn(tenant), h.movePhase(tenant), h.livesIn(tenant)
			if phase == "failed" {
				t.Fatalf("the move has failed: %s", h.eventually("tenant", "moves", tenant))
			}
			if phase == "copying" && earlier == to || phase != "copying" && later != to {
				t.Fatalf("in the phase %s the tenant lives in %s, then %s", phase, earlier, later)
			}
			if phase != "copying" && phase != "switching" { // else the next move is refused
				break
			}
		}
		if diff := cmp.Diff(before, h.chunkCounts("log")); diff != "" {
			t.Fatalf("after the move to %s (-before +after):\n%s", to, diff)
		}
	}
	if found := h.eventually("query", "--index", "log", "valve 42"); !strings.Contains(found, "42") {
		t.Errorf("found %s", found)
	}
}
