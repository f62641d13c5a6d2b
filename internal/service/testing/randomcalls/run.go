// Package randomcalls calls all RPCs and MCP tools of a running service at random, for
// two tenants and an operator at once, with deadlines and aborts, and checks every answer:
// the service must never answer with an internal error, nor with data of another tenant.
//
// The RPCs come from the descriptors of the API, so a new one is called without a change
// here. Requests are random but mostly valid: fields are filled by their names, with
// values that earlier answers contained. The texts and metadata that a tenant sends
// contain a marker of its own, and no answer to the other tenant may contain it.
package randomcalls

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Config configures a run.
type Config struct {
	// URL is the address of the service, which must have no tenants with the names that
	// the run creates.
	URL string
	// OperatorKey is the operator's secret.
	OperatorKey string
	// Duration is the time in which calls begin.
	Duration time.Duration
	// Seed selects the requests. The same seed sends the same kinds of requests, but
	// their order and the ids in them depend on the service.
	Seed uint64
	// Workers is the number of concurrent calls. Default: 8.
	Workers int
	// MaxDeadline is the longest deadline of a call; the shortest is a millisecond.
	// Default: 30 s.
	MaxDeadline time.Duration
}

// Report has what a run found.
type Report struct {
	// Calls counts the calls of each method by the code of their answers.
	Calls map[string]map[string]int
	// Violations describes answers that must not be, the first of each kind.
	Violations []string
	// Violated is the number of answers that must not be.
	Violated int
}

// run is a run in progress.
type run struct {
	config  Config
	methods []protoreflect.MethodDescriptor
	tools   map[string]protoreflect.MethodDescriptor // RPCs of the tools of MCP
	clients clients

	mu     sync.Mutex
	report Report
	kinds  map[string]bool // kinds of violations that are in the report
}

// Run calls the service until the time is over, and waits for the answers. The error says
// why it could not begin.
func Run(ctx context.Context, config Config) (Report, error) {
	config.Workers = cmp.Or(config.Workers, 8)
	config.MaxDeadline = cmp.Or(config.MaxDeadline, 30*time.Second)
	r := &run{
		config: config, methods: methods(), clients: newClients(config.URL), kinds: map[string]bool{},
		report: Report{Calls: map[string]map[string]int{}},
	}
	defer r.clients.close()
	callers, err := r.prepare(ctx)
	if err != nil {
		return r.report, err
	}
	end := time.Now().Add(config.Duration)
	var workers sync.WaitGroup
	for n := range config.Workers {
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(config.Seed, uint64(n)))
			for time.Now().Before(end) && ctx.Err() == nil {
				r.callOne(ctx, rng, callers[rng.IntN(len(callers))])
			}
		})
	}
	workers.Wait()
	return r.report, nil
}

// callOne makes one random call with a random deadline, and sometimes leaves earlier.
func (r *run) callOne(ctx context.Context, rng *rand.Rand, c *caller) {
	// Deadlines are spread evenly over the orders of magnitude.
	deadline := time.Millisecond
	for deadline < r.config.MaxDeadline && rng.IntN(6) > 0 {
		deadline *= 4
	}
	deadline = min(deadline, r.config.MaxDeadline)
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if rng.IntN(6) == 0 {
		abort := time.AfterFunc(time.Duration(rng.IntN(200))*time.Millisecond, cancel)
		defer abort.Stop()
	}
	g := &generator{rng: rng, caller: c}
	if !c.operator && rng.IntN(4) == 0 {
		r.callMCP(ctx, g)
		return
	}
	method := r.pick(rng, c)
	g.method = method
	r.callRPC(ctx, g, method)
}

// pick chooses a method: for the operator mostly one of the tenant service.
func (r *run) pick(rng *rand.Rand, c *caller) protoreflect.MethodDescriptor {
	for {
		m := r.methods[rng.IntN(len(r.methods))]
		if m.Parent().Name() == "TenantService" == c.operator || rng.IntN(10) == 0 {
			return m
		}
	}
}

// count adds a call to the report.
func (r *run) count(method, code string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report.Calls[method] == nil {
		r.report.Calls[method] = map[string]int{}
	}
	r.report.Calls[method][code]++
}

// violate adds an answer that must not be. The first of each kind is described.
func (r *run) violate(kind, description string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Violated++
	if !r.kinds[kind] {
		r.kinds[kind] = true
		r.report.Violations = append(r.report.Violations, kind+": "+description)
	}
}

// Total returns the number of calls.
func (r Report) Total() int {
	total := 0
	for _, codes := range r.Calls {
		for _, n := range codes {
			total += n
		}
	}
	return total
}

// Write writes the counts as a table of Markdown, and the violations.
func (r Report) Write(w io.Writer) {
	fmt.Fprintf(w, "| call | answers |\n| --- | --- |\n")
	for _, method := range slices.Sorted(maps.Keys(r.Calls)) {
		fmt.Fprintf(w, "| %s |", method)
		for _, code := range slices.Sorted(maps.Keys(r.Calls[method])) {
			fmt.Fprintf(w, " %d %s", r.Calls[method][code], code)
		}
		fmt.Fprintln(w, " |")
	}
	fmt.Fprintf(w, "\n%d calls, %d answers that must not be\n", r.Total(), r.Violated)
	for _, v := range r.Violations {
		fmt.Fprintf(w, "- %s\n", v)
	}
}
