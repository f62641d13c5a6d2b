// Command tenants measures what many tenants on one database cost: making them, asking
// them questions, their disk and memory, the idle service, its start, and a migration. It
// starts the given ragd on a data directory of its own and calls it as clients do.
//
//	go build -o bin/ragd ./cmd/ragd && go run ./bench/tenants -ragd bin/ragd -tenants 1000
//
// It prints tables in Markdown, with the goal beside each figure that has one.
package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/ragdhq/ragd/bench/internal/harness"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
)

// options are the flags of a run.
type options struct {
	ragd     string
	tenants  int
	makers   int // tenants that are made at once
	parallel int // tenants that are migrated at once
	duration time.Duration
	idle     time.Duration
	args     string
}

func main() {
	var o options
	harness.ProgramVar(&o.ragd)
	flag.IntVar(&o.tenants, "tenants", 1000, "tenants to make; at least 20")
	flag.IntVar(&o.makers, "makers", 2, "tenants to make at once")
	flag.IntVar(&o.parallel, "parallel", 2, "tenants to migrate at once")
	flag.DurationVar(&o.duration, "duration", 5*time.Second, "time for each measurement of queries")
	flag.DurationVar(&o.idle, "idle", time.Minute, "time for which the idle service is watched")
	flag.StringVar(&o.args, "args", "", "further arguments of ragd serve, separated by spaces")
	harness.Main(func(ctx context.Context) error { return run(ctx, o) })
}

// few is the size of the smallest set of tenants, with which larger sets are compared.
const few = 10

// stages returns the numbers of tenants at which queries are measured, in growing order.
func stages(tenants int) []int {
	all := []int{few, 1000, tenants}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(n int) bool { return n > tenants })
}

// run measures everything and prints the tables.
func run(ctx context.Context, o options) error {
	if o.tenants < 2*few {
		return fmt.Errorf("-tenants must be at least %d", 2*few)
	}
	heap := &heapLog{}
	d, err := harness.Start(ctx, daemon.Config{
		Program: o.ragd, Args: fields(o.args), Env: []string{"GODEBUG=gctrace=1"}, Log: heap,
	})
	if err != nil {
		return err
	}
	defer d.Stop()
	b := &bench{options: o, daemon: d, heap: heap, calls: connectTo(d.URL())}
	if b.pool, err = openDatabase(ctx, d); err != nil {
		return err
	}
	defer func() { b.pool.Close() }()
	fmt.Printf("%d tenants of one index with %d vectors of %d dimensions, text and metadata; %s, %d CPUs\n",
		o.tenants, perTenant, dimension, runtime.GOARCH, runtime.NumCPU())
	for _, step := range []func(context.Context) error{b.emptyTenants, b.grow, b.interleaved, b.idle, b.migrate} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}
