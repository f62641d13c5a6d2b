// Command agents measures what many conversations with a slow model cost: agents that are asked at
// once, over Connect and MCP, and durable runs of a workflow that asks one. It starts the given ragd
// on a data directory of its own, and a model that searches first and then thinks until all callers
// wait for it.
//
//	go build -o bin/ragd ./cmd/ragd && go run ./bench/agents -ragd bin/ragd -callers 1000
//
// It prints a table in Markdown, with the goal beside each figure that has one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/bench/internal/harness"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// tenants is how many tenants share the callers.
const tenants = 5

// goal is how many bytes of private memory ragd should take while all callers wait.
const goal = 200 << 20

func main() {
	var ragd string
	harness.ProgramVar(&ragd)
	callers := flag.Int("callers", 1000, "questions and runs at once")
	patience := flag.Duration("patience", 3*time.Minute, "how long each kind of call may take")
	harness.Main(func(ctx context.Context) error { return run(ctx, ragd, *callers, *patience) })
}

func run(ctx context.Context, program string, callers int, patience time.Duration) error {
	model := newModel()
	server, stop := modelserver.Start()
	defer stop()
	server.Turn = model.turn
	most := strconv.Itoa(callers)
	d, err := harness.Start(ctx, daemon.Config{
		Program: program,
		Args:    []string{"--openai-base-url", server.URL + "/v1", "--openai-models", "*", "--provider-calls", most, "--tenant-concurrent-requests", "0"},
	})
	if err != nil {
		return err
	}
	defer d.Stop()
	var of [tenants]*calls
	for i := range of {
		if of[i], err = newCalls(ctx, d, fmt.Sprintf("tenant%d", i), callers, model); err != nil {
			return err
		}
	}
	idle, err := memoryOf(d.Process())
	if err != nil {
		return err
	}
	fmt.Printf("%d callers of %d tenants wait for a model at once; %s, %d CPUs. Private memory of the idle service: %d MB. Goal while they wait: less than %d MB.\n\n",
		callers, tenants, runtime.GOARCH, runtime.NumCPU(), idle>>20, goal>>20)
	fmt.Println("| callers | all wait after | private memory then | 15 s later | answered after further |")
	fmt.Println("| --- | ---: | ---: | ---: | ---: |")
	for _, kind := range []struct {
		name string
		call func(*calls, context.Context) error
	}{
		{"AskAgentStream", (*calls).stream}, {"AskAgent", (*calls).ask}, {"tool ask_NAME over MCP", (*calls).tool}, {"durable runs of a workflow", (*calls).workflow},
	} {
		if _, err := d.Restart(ctx); err != nil {
			return err
		}
		for _, c := range of {
			if err := c.begin(ctx); err != nil {
				return err
			}
		}
		limited, cancel := context.WithTimeout(ctx, patience)
		call := func(ctx context.Context, n int) error { return kind.call(of[n%tenants], ctx) }
		err := measure(limited, kind.name, call, callers, model, d)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	return nil
}

// measure makes the calls at once, lets the model answer when all of them wait for it, and prints a
// row.
func measure(ctx context.Context, name string, call func(context.Context, int) error, callers int, model *model, d *daemon.Daemon) error {
	model.hold()
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for n := range callers {
		group.Go(func() error { return call(ctx, n) })
	}
	arrived := model.await(ctx, callers)
	waiting := time.Since(start)
	burst, _ := memoryOf(d.Process())
	pause(ctx, settle)
	memory, err := memoryOf(d.Process())
	model.release()
	if !arrived {
		return errors.Join(fmt.Errorf("%d of %d wait for the model after %v", model.count(), callers, waiting.Round(time.Second)), group.Wait())
	}
	if err := errors.Join(err, group.Wait()); err != nil {
		return err
	}
	fmt.Printf("| %s | %.1f s | %d MB | %d MB | %.1f s |\n", name, waiting.Seconds(), burst>>20, memory>>20, (time.Since(start) - waiting - settle).Seconds())
	return nil
}

// settle is how long all callers wait before the memory is measured again.
const settle = 15 * time.Second

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// model searches once and then thinks until it is released.
type model struct {
	mu      sync.Mutex
	waiting int
	free    chan struct{} // closed to release those that wait
}

func newModel() *model { return &model{} }

func (m *model) hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting, m.free = 0, make(chan struct{})
}

func (m *model) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.free)
}

func (m *model) released() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.free
}

func (m *model) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting
}

// await waits until so many callers wait. It returns false when ctx ends first.
func (m *model) await(ctx context.Context, callers int) bool {
	for m.count() < callers {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return true
}

func (m *model) turn(chat modelserver.Chat) modelserver.Turn {
	if len(chat.Results()) == 0 {
		return modelserver.Turn{Calls: []modelserver.Call{{Name: "vector_query", Arguments: `{"indexName": "docs", "queryText": "gate"}`}}}
	}
	m.mu.Lock()
	m.waiting++
	free := m.free
	m.mu.Unlock()
	<-free
	return modelserver.Turn{Text: answer}
}

// answer is what the model says; the passage that it cites is kept.
const answer = "The gate opens two hours before high water [1]."

// memoryOf returns the bytes of private memory of a process.
func memoryOf(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("the system does not say how much private memory a process has")
}
