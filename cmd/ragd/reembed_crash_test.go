package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/testing/modelserver"
)

// The service, or its PostgreSQL, is killed again and again while an index gets
// another embedding model. Questions get answers of the old model until the new one
// has embedded everything, and then nothing of the old one is left.
func TestKilledInTheMiddleOfAReembedding(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	const documents = 300
	const newModel = "text-embedding-3-small"
	fake := modelserver.New(t)
	h := newHome(t, "RAGD_OPENAI_BASE_URL="+fake.URL+"/v1", "RAGD_OPENAI_API_KEY="+modelserver.Key)
	service := h.serve()
	corpus := filepath.Join(h.dir, "corpus.jsonl")
	writeCorpus(t, corpus, documents)
	h.ragd("index", "create", "log", "--embedding-model", "openai/some-model")
	h.ragd("ingest", "--index", "log", "--jsonl", corpus)
	fake.Set(modelserver.Fault{Delay: 500 * time.Millisecond, When: func(r modelserver.Request) bool {
		return r.Body["model"] == newModel
	}})
	var index struct {
		ReembedJobID, EmbeddingModel string
		Count, Dimension             int
	}
	describe := func(command ...string) {
		t.Helper()
		index.ReembedJobID = ""
		if err := json.Unmarshal([]byte(h.ragd(append(command, "--json")...)), &index); err != nil {
			t.Fatal(err)
		}
	}
	describe("index", "reembed", "log", "--model", "openai/"+newModel, "--dimension", "16", "--wait=false")
	job := index.ReembedJobID
	for kill := range 4 {
		time.Sleep(time.Duration(300+250*kill) * time.Millisecond)
		service = killOne(h, service, kill%2 == 0)
		if found := h.eventually("query", "--index", "log", "--json", "valve 77 was opened"); !strings.Contains(found, "valve") {
			t.Errorf("no answer after kill %d: %s", kill, found)
		}
	}
	h.eventually("job", "watch", job)
	describe("index", "describe", "log")
	if index.Count != documents || index.Dimension != 16 || index.EmbeddingModel != "openai/"+newModel || index.ReembedJobID != "" {
		t.Errorf("the index = %+v", index)
	}
	h.checkOneGeneration(documents)
}

// killOne kills the service or its PostgreSQL and returns the service that runs then.
func killOne(h *home, service *exec.Cmd, ragd bool) *exec.Cmd {
	h.t.Helper()
	if ragd {
		stop(h.t, service, syscall.SIGKILL)
		return h.serve()
	}
	pid, _ := h.postmaster()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
	h.awaitReady()
	return service
}

// eventually runs a command again and again until it succeeds: a service whose
// PostgreSQL was killed says for a moment that it cannot answer.
func (h *home) eventually(args ...string) string {
	h.t.Helper()
	var output []byte
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if output, err = h.command(h.t.Context(), args...).Output(); err == nil {
			return string(output)
		}
	}
	h.t.Fatalf("ragd %s: %v\n%s", strings.Join(args, " "), err, output)
	return ""
}

// checkOneGeneration looks into the tables of the only index after it got another
// embedding model.
func (h *home) checkOneGeneration(chunks int) {
	h.t.Helper()
	var tables, stored, noted int
	err := h.database().QueryRow(h.t.Context(), `
		SELECT (SELECT count(*) FROM pg_class WHERE relname LIKE 'chunk\_1%' AND relkind = 'r' AND relnamespace = 'tenant_default'::regnamespace),
			(SELECT count(*) FROM tenant_default.chunk_1_1), (SELECT count(*) FROM tenant_default.reembed_documents)`).Scan(&tables, &stored, &noted)
	if err != nil {
		h.t.Fatal(err)
	}
	if tables != 1 || stored != chunks || noted != 0 {
		h.t.Errorf("%d tables of chunks, %d chunks in the new one, %d documents noted", tables, stored, noted)
	}
}
