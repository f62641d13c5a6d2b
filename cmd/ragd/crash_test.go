package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/service/testing/long"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// crashLoad returns how often a process is killed and how many documents are ingested
// meanwhile. With RAGD_TEST_HUGE=1 both are larger, and the test takes minutes.
func crashLoad() (kills, documents int) {
	if os.Getenv("RAGD_TEST_HUGE") != "" {
		return 20, 2000
	}
	return 3, 200
}

// The service, or its PostgreSQL, is killed at random moments of an ingest whose
// embedding provider fails one call in ten. In the end the database contains exactly
// what an undisturbed ingest stores.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	long.Only(t)
	t.Parallel()
	needsDatabase(t)
	t.Run("killing ragd", func(t *testing.T) {
		t.Parallel()
		surviveKills(t, func(h *home, service *exec.Cmd) *exec.Cmd {
			stop(h.t, service, syscall.SIGKILL)
			return h.serve()
		})
	})
	t.Run("killing PostgreSQL", func(t *testing.T) {
		t.Parallel()
		surviveKills(t, func(h *home, service *exec.Cmd) *exec.Cmd {
			pid, _ := h.postmaster()
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				h.t.Fatal(err)
			}
			h.awaitReady() // the service starts it again
			return service
		})
	})
}

// surviveKills ingests a corpus while kill is called several times, and compares the
// result with that of an undisturbed ingest. kill returns the running service.
func surviveKills(t *testing.T, kill func(*home, *exec.Cmd) *exec.Cmd) {
	kills, documents := crashLoad()
	fake := modelserver.New(t)
	h := newHome(t, "RAGD_OPENAI_BASE_URL="+fake.URL+"/v1", "RAGD_OPENAI_API_KEY="+modelserver.Key, "RAGD_OPENAI_MODELS=*")
	service := h.serve()
	corpus := filepath.Join(h.dir, "corpus.jsonl")
	writeArticles(t, corpus, documents)
	for _, index := range []string{"calm", "disturbed"} {
		h.ragd("index", "create", index, "--embedding-model", "openai/some-model")
	}
	stopFaults := misbehave(fake)

	var output bytes.Buffer
	ingest := h.command(t.Context(), "ingest", "--index", "disturbed", "--jsonl", corpus)
	ingest.Stdout, ingest.Stderr = &output, &output
	if err := ingest.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- ingest.Wait() }()
	for range kills {
		enough := len(fake.Requests()) + 1 + rand.IntN(10)
		wait.For(t, "more requests for embeddings", func() bool { return len(fake.Requests()) >= enough || len(done) > 0 })
		service = kill(h, service)
	}
	if err := <-done; err != nil {
		t.Fatalf("ragd ingest: %v\n%s", err, output.String())
	}
	stopFaults()
	h.ragd("ingest", "--index", "calm", "--jsonl", corpus)
	if diff := cmp.Diff(h.chunkCounts("calm"), h.chunkCounts("disturbed")); diff != "" {
		t.Errorf("chunks of documents, undisturbed and disturbed (-want +got):\n%s", diff)
	}
	h.checkNothingIsLeft()
}

// misbehave makes one call in ten fail, in alternating ways, until stop is called.
func misbehave(fake *modelserver.Server) (stop func()) {
	faults := []modelserver.Fault{
		{Status: http.StatusTooManyRequests, RetryAfter: "1"},
		{Status: http.StatusInternalServerError},
		{Half: true},
		{Mangle: func(answer map[string]any) {
			first, _ := answer["data"].([]any)[0].(map[string]any)
			first["embedding"] = []float32{1, 0}
		}},
		{Hang: true, When: func(modelserver.Request) bool { return os.Getenv("RAGD_TEST_HUGE") != "" }},
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			f := faults[i%len(faults)]
			f.Percent = 10
			fake.Set(f)
			select {
			case <-end:
				fake.Set(modelserver.Fault{})
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() { close(end); <-ended }
}

// writeArticles writes documents of one to four chunks and more.
func writeArticles(t *testing.T, path string, documents int) {
	t.Helper()
	var lines bytes.Buffer
	for i := range documents {
		text := strings.Repeat(fmt.Sprintf("Article %d tells of the valves and what they let through. ", i), 10*(1+i%5))
		line, err := json.Marshal(map[string]any{"id": fmt.Sprint("article-", i), "title": fmt.Sprintf("The Valve LD-%d", i), "text": text})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// postmaster waits until the service's PostgreSQL runs, and returns its process and the
// folder of its socket.
func (h *home) postmaster() (pid int, socket string) {
	h.t.Helper()
	file := filepath.Join(h.dir, "data", "ragd", "postgres", "cluster", "postmaster.pid")
	for range wait.Poll(h.t, "the service's PostgreSQL") {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		lines := strings.Split(string(content), "\n")
		pid, err = strconv.Atoi(lines[0])
		if err == nil && len(lines) > 4 && lines[4] != "" && syscall.Kill(pid, 0) == nil {
			if socket = lines[4]; !filepath.IsAbs(socket) { // relative to the server's folder
				socket = filepath.Dir(file)
			}
			return pid, socket
		}
	}
	return 0, ""
}

// chunkCounts returns the number of chunks of each document of an index, by uri. It fails
// the test if a document is not ready or listed twice.
func (h *home) chunkCounts(index string) map[string]int {
	h.t.Helper()
	counts := map[string]int{}
	for line := range strings.Lines(h.ragd("document", "list", "--index", index, "--json")) {
		var d struct {
			URI, Status string
			ChunkCount  int
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			h.t.Fatal(err)
		}
		if _, twice := counts[d.URI]; twice || d.Status != "ready" {
			h.t.Errorf("document %s is listed twice, or %s", d.URI, d.Status)
		}
		counts[d.URI] = d.ChunkCount
	}
	return counts
}

// database returns a connection to the embedded database, until the test ends.
func (h *home) database() *pgx.Conn {
	h.t.Helper()
	_, socket := h.postmaster()
	conn, err := pgx.Connect(h.t.Context(), "host="+socket+" user=ragd dbname=ragd")
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// checkNothingIsLeft fails the test if the tables contain inconsistent rows after all
// ingests have ended.
func (h *home) checkNothingIsLeft() {
	h.t.Helper()
	var problems map[string]int
	err := h.database().QueryRow(h.t.Context(), `
		WITH chunk AS (
			SELECT * FROM (SELECT document_id, ordinal FROM tenant_default.chunk_1
				UNION ALL SELECT document_id, ordinal FROM tenant_default.chunk_2) AS c
		), edge AS (
			SELECT document_id, ordinal, to_document_id, to_ordinal FROM tenant_default.edge_1
			UNION ALL SELECT document_id, ordinal, to_document_id, to_ordinal FROM tenant_default.edge_2
		)
		SELECT jsonb_build_object(
			'chunks without a document', (SELECT count(*) FROM chunk LEFT JOIN tenant_default.documents AS d USING (document_id) WHERE d.document_id IS NULL),
			'chunks stored twice', (SELECT count(*) FROM (SELECT FROM chunk GROUP BY document_id, ordinal HAVING count(*) > 1) AS c),
			'documents with a wrong number of chunks', (SELECT count(*) FROM tenant_default.documents AS d
				WHERE d.chunk_count <> (SELECT count(*) FROM chunk WHERE chunk.document_id = d.document_id)),
			'edges from a missing chunk', (SELECT count(*) FROM edge LEFT JOIN chunk USING (document_id, ordinal) WHERE chunk.document_id IS NULL),
			'edges to a missing chunk', (SELECT count(*) FROM edge LEFT JOIN chunk ON chunk.document_id = edge.to_document_id AND chunk.ordinal = edge.to_ordinal
				WHERE edge.to_document_id IS NOT NULL AND chunk.document_id IS NULL),
			'documents without a name', (SELECT count(*) FROM tenant_default.documents AS d
				WHERE NOT EXISTS (SELECT FROM edge WHERE edge.document_id = d.document_id)),
			'contents without a document', (SELECT count(*) FROM tenant_default.document_contents LEFT JOIN tenant_default.documents AS d USING (document_id) WHERE d.document_id IS NULL),
			'jobs that have not ended', (SELECT count(*) FROM tenant_default.jobs WHERE kind = 'ingest' AND status IN ('queued', 'running')),
			'jobs of ready documents that did not succeed', (SELECT count(*) FROM tenant_default.jobs AS j JOIN tenant_default.documents AS d USING (job_id) WHERE j.status <> 'succeeded'),
			'documents in the backlog', (SELECT count(*) FROM ragd.backlog),
			'documents in the job queue', (SELECT count(*) FROM ragd.river_job WHERE kind = 'ingest')
		)`).Scan(&problems)
	if err != nil {
		h.t.Fatal(err)
	}
	maps.DeleteFunc(problems, func(_ string, n int) bool { return n == 0 })
	if len(problems) > 0 {
		h.t.Errorf("inconsistent rows: %v", problems)
	}
}

// The service and its PostgreSQL are killed in turn while an index gets another embedding
// model. Queries use the old model until all documents are embedded again, and then
// no data of the old model is left.
func TestKilledInTheMiddleOfAReembedding(t *testing.T) {
	long.Only(t)
	t.Parallel()
	needsDatabase(t)
	const documents = 300
	const newModel = "text-embedding-3-small"
	fake := modelserver.New(t)
	h := newHome(t, "RAGD_OPENAI_BASE_URL="+fake.URL+"/v1", "RAGD_OPENAI_API_KEY="+modelserver.Key, "RAGD_OPENAI_MODELS=*")
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
		before := requestsFor(fake, newModel)
		wait.For(t, "another request for the new model", func() bool { return requestsFor(fake, newModel) > before })
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

// requestsFor returns the number of requests that a provider got for a model.
func requestsFor(provider *modelserver.Server, model string) (n int) {
	for _, r := range provider.Requests() {
		if r.Body["model"] == model {
			n++
		}
	}
	return n
}

// killOne kills the service or its PostgreSQL and returns the service that runs
// afterwards.
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

// eventually repeats a command until it succeeds: a service whose PostgreSQL was killed
// cannot answer for a moment.
func (h *home) eventually(args ...string) string {
	h.t.Helper()
	var output []byte
	wait.For(h.t, "ragd "+strings.Join(args, " "), func() bool {
		var err error
		output, err = h.command(h.t.Context(), args...).Output()
		return err == nil
	})
	return string(output)
}

// checkOneGeneration fails the test if the only index, after a reembedding, does not
// have exactly one table of chunks with this number of rows.
func (h *home) checkOneGeneration(chunks int) {
	h.t.Helper()
	var tables, stored, unfinished int
	err := h.database().QueryRow(h.t.Context(), `
		SELECT (SELECT count(*) FROM pg_class WHERE relname LIKE 'chunk\_1%' AND relkind = 'r' AND relnamespace = 'tenant_default'::regnamespace),
			(SELECT count(*) FROM tenant_default.chunk_1_1), (SELECT count(*) FROM pg_class WHERE relname = 'reembed_1' AND relnamespace = 'tenant_default'::regnamespace)`).Scan(&tables, &stored, &unfinished)
	if err != nil {
		h.t.Fatal(err)
	}
	if tables != 1 || stored != chunks || unfinished != 0 {
		h.t.Errorf("%d tables of chunks, %d chunks in the new one, %d tables of documents that are not embedded again", tables, stored, unfinished)
	}
}
