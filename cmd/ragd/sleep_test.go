package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/service/testing/long"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// sleepKills returns how often a process is killed.
func sleepKills() int {
	if os.Getenv("RAGD_TEST_HUGE") != "" {
		return 30
	}
	return 6
}

// The service, or its PostgreSQL, is killed at random moments while a tenant is put to sleep and woken. What was answered holds
// afterwards, and the tenant has the same rows whenever it is awake.
func TestKilledWhileATenantSleepsAndWakes(t *testing.T) {
	long.Only(t)
	t.Parallel()
	needsDatabase(t)
	const tenant = "default"
	h := newHome(t)
	service := h.serve()
	corpus := filepath.Join(h.dir, "corpus.jsonl")
	writeArticles(t, corpus, 300)
	h.ragd("index", "create", "log")
	h.ragd("ingest", "--index", "log", "--jsonl", corpus)
	state := func() string {
		t.Helper()
		var got struct{ State string }
		if err := json.Unmarshal([]byte(h.eventually("tenant", "get", tenant, "--json")), &got); err != nil {
			t.Fatal(err)
		}
		return got.State
	}
	timed := func(command string) time.Duration {
		start := time.Now()
		h.eventually("tenant", command, tenant)
		return time.Since(start)
	}
	before := servicetest.RowSums(t, h.database(), tenant)
	took := map[string]time.Duration{"sleep": timed("sleep"), "wake": timed("wake")}
	after := map[string]string{"sleep": "asleep", "wake": "active"}
	ends := map[string]int{}
	for i := range sleepKills() {
		command := []string{"sleep", "wake"}[i%2]
		if command == "wake" {
			h.eventually("tenant", "sleep", tenant)
		}
		cmd := h.command(t.Context(), "tenant", command, tenant)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(rand.N(took[command] * 5 / 4)) // at any step, or after it
		service = killOne(h, service, i%3 != 2)
		answered := cmd.Wait() == nil
		got := state()
		if answered && got != after[command] {
			t.Fatalf("%s was answered, and then the tenant is %s", command, got)
		}
		ends[command+" "+got]++
		h.eventually("tenant", "wake", tenant)
		wait.For(t, "the writes of the tenant to go on", func() bool {
			var stopped bool
			err := h.database().QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM ragd_shared.stopped_tenants)`).Scan(&stopped)
			return err == nil && !stopped
		})
		if diff := cmp.Diff(before, servicetest.RowSums(t, h.database(), tenant)); diff != "" {
			t.Fatalf("after a kill during %s (-before +after):\n%s", command, diff)
		}
	}
	t.Logf("kills, by what was interrupted and the state after it: %v", ends)
	if found := h.eventually("query", "--index", "log", "what does valve LD-42 let through"); !strings.Contains(found, "42") {
		t.Errorf("found %s", found)
	}
}
