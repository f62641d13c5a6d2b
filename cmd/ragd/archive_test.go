package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/cmd/ragd/internal/archivefile"
	"github.com/ragdhq/ragd/internal/service/testing/long"
)

// gate is a proxy before a service that stops after a number of bytes in one direction, until it is opened.
type gate struct {
	address string
	to      string

	limit   atomic.Int64 // bytes until it stops; negative: never
	reached chan struct{}
	opened  chan struct{}
}

// newGate returns a gate that stops after a number of bytes, of requests or of answers.
func newGate(t *testing.T, to string, limit int64, requests bool) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{address: "http://" + listener.Addr().String(), to: to, reached: make(chan struct{}), opened: make(chan struct{})}
	g.limit.Store(limit)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil { // the service restarts
				_ = client.Close()
				continue
			}
			var once sync.Once
			end := func() { once.Do(func() { _, _ = client.Close(), server.Close() }) }
			pass := func(to, from net.Conn, counted bool) {
				defer end()
				buffer := make([]byte, 16<<10)
				for {
					n, err := from.Read(buffer)
					if counted && g.limit.Load() >= 0 && g.limit.Add(int64(-n)) < 0 {
						g.limit.Store(-1)
						close(g.reached)
						<-g.opened
					}
					if _, err := to.Write(buffer[:n]); err != nil {
						return
					}
					if err != nil {
						return
					}
				}
			}
			go pass(server, client, requests)
			go pass(client, server, !requests)
		}
	}()
	return g
}

// killInTheMiddle runs a command through a gate, and kills the service when the gate is reached. The command goes on with the
// service that is started then.
func (h *home) killInTheMiddle(service *exec.Cmd, limit int64, requests bool, args ...string) *exec.Cmd {
	h.t.Helper()
	g := newGate(h.t, h.listen, limit, requests)
	cmd := h.command(h.t.Context(), append(args, "--server", g.address)...)
	cmd.Env = append(cmd.Env, "RAGD_OPERATOR_KEY="+h.sections()[0].OperatorKey)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-g.reached:
	case err := <-done:
		h.t.Fatalf("ragd %s ended before %d bytes: %v\n%s", strings.Join(args, " "), limit, err, output.String())
	}
	stop(h.t, service, syscall.SIGKILL)
	close(g.opened)
	service = h.serve()
	if err := <-done; err != nil {
		h.t.Fatalf("ragd %s: %v\n%s", strings.Join(args, " "), err, output.String())
	}
	if !strings.Contains(output.String(), "cut off") {
		h.t.Errorf("the command was not cut off: %s", output.String())
	}
	return service
}

// ragd is killed in the middle of an export, and of an import. Both commands go on, and the imported tenant answers as the first one.
func TestKilledInTheMiddleOfAnExportAndAnImport(t *testing.T) {
	long.Only(t)
	t.Parallel()
	needsDatabase(t)
	h := newHome(t)
	service := h.serve()
	corpus := filepath.Join(h.dir, "corpus.jsonl")
	random := rand.New(rand.NewPCG(1, 2))
	var lines bytes.Buffer
	for i := range 40 {
		var text strings.Builder
		for range 600 {
			text.WriteString(hex.EncodeToString(fmt.Append(nil, random.Uint64())) + " ")
		}
		line, err := json.Marshal(map[string]any{"id": fmt.Sprint("note-", i), "title": fmt.Sprint("Note ", i), "text": text.String()})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	if err := os.WriteFile(corpus, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	h.ragd("index", "create", "notes")
	h.ragd("ingest", "--index", "notes", "--jsonl", corpus)
	before := h.chunkCounts("notes")

	file := filepath.Join(h.dir, "default.ragd")
	service = h.killInTheMiddle(service, 600<<10, false, "export", "default", "--output", file)
	if _, err := os.Stat(file + archivefile.PartSuffix); err == nil {
		t.Error("the part file is still there")
	}
	size, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	h.killInTheMiddle(service, size.Size()/2, true, "import", file, "--as", "restored")
	counts := map[string]int{}
	for line := range strings.Lines(h.ragd("document", "list", "--tenant", "restored", "--index", "notes", "--json")) {
		var d struct {
			URI, Status string
			ChunkCount  int
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		counts[d.URI] = d.ChunkCount
	}
	if diff := cmp.Diff(before, counts); diff != "" {
		t.Errorf("chunks of documents, of the first tenant and the imported one:\n%s", diff)
	}
	ask := []string{"query", "--index", "notes", "--json", "note 7"}
	if first, imported := h.ragd(append(ask, "--tenant", "default")...), h.ragd(append(ask, "--tenant", "restored")...); withoutTimes(first) != withoutTimes(imported) {
		t.Errorf("answers:\n%s\n%s", first, imported)
	}
	// A tenant that exists is not replaced, and an archive goes through pipes.
	if out := h.ragdFails("import", file); !strings.Contains(out, "exists already") {
		t.Errorf("an import over a tenant says %s", out)
	}
	piped := h.command(t.Context(), "import", "-", "--as", "piped")
	piped.Stdin = strings.NewReader(h.ragd("export", "default", "--output", "-"))
	if out, err := piped.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// withoutTimes returns an answer in JSON without what differs between two calls.
func withoutTimes(answer string) string {
	var value map[string]any
	if json.Unmarshal([]byte(answer), &value) != nil {
		return answer
	}
	delete(value, "explain")
	text, err := json.Marshal(value)
	if err != nil {
		return answer
	}
	return string(text)
}

// ragdFails runs a command that must fail, and returns its output.
func (h *home) ragdFails(args ...string) string {
	h.t.Helper()
	out, err := h.command(h.t.Context(), args...).CombinedOutput()
	if err == nil {
		h.t.Errorf("ragd %s succeeds: %s", strings.Join(args, " "), out)
	}
	return string(out)
}
