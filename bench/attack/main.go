// Command attack attacks a running ragd from outside, as a hostile tenant or a stranger
// would, and reports what each attack achieved. It starts the given ragd on a data
// directory of its own, anew for each attack, so that one does not change the result of
// the next.
//
//	go build -o bin/ragd ./cmd/ragd
//	go run ./bench/attack -ragd bin/ragd                          # all attacks
//	go run ./bench/attack -ragd bin/ragd -only health,filter-     # those whose names contain these
//	go run ./bench/attack -ragd bin/ragd -memory 1GiB             # in a control group of this size
//	go run ./bench/attack -ragd bin/ragd -race 10m                # random calls of all RPCs instead
//	go run ./bench/attack -list
//
// It prints one row of Markdown for each attack: what was sent, what came back, the most
// memory that the service's process used, and the verdict. An attack succeeds when the
// service dies or no longer answers, when it answers or logs an internal error, and for
// the reasons that the attack itself defines: another tenant's calls become more than
// twice as slow, work goes on after its caller has left, a write is outside of the
// filter of its credential. Then the program exits with 1.
//
// The attacks stand in one file for each kind: size.go (bodies that are small on the wire
// and large in memory), slow.go (bodies that never end), cpu.go, neighbour.go, provider.go, file.go,
// index.go, filter.go, credential.go, text.go and machine.go. The program also runs
// against older binaries, so that two can be compared.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/bench/internal/harness"
)

// options are the flags of a run.
type options struct {
	ragd    string
	only    string
	memory  byteSize
	indexes int
	verbose bool
}

// attack is one attack on a service.
type attack struct {
	name string // for -only
	what string // what is sent, in a few words
	// unlimited attacks run without the limit of memory.
	unlimited bool
	// settings returns further arguments and variables of the service.
	settings func(*arena) (args, env []string)
	run      func(context.Context, *arena) (result, error)
}

// result is what an attack achieved.
type result struct {
	answer string   // codes and times
	broken []string // the reasons why the attack succeeded; empty if it failed
}

func (r *result) breaks(format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf(format, args...))
}

// attacks returns all attacks, by kind.
func attacks() []attack {
	return slices.Concat(sizeAttacks(), slowAttacks(), cpuAttacks(), providerAttacks(), fileAttacks(),
		neighbourAttacks(), indexAttacks(), filterAttacks(), credentialAttacks(), textAttacks(), machineAttacks())
}

func main() {
	o := options{memory: 1 << 30}
	var list, asks bool
	var race time.Duration
	var seed uint64
	harness.ProgramVar(&o.ragd)
	flag.StringVar(&o.only, "only", "", "run the attacks whose names contain one of these texts, separated by commas")
	flag.Var(&o.memory, "memory", "limit of memory for the service and its PostgreSQL, 0 for none")
	flag.IntVar(&o.indexes, "indexes", 1500, "indexes that the attack many-indexes tries to create")
	flag.BoolVar(&o.verbose, "v", false, "show the log of the service")
	flag.BoolVar(&list, "list", false, "list the attacks")
	flag.BoolVar(&asks, "probe", false, "ask as the other tenant; the program starts itself with it")
	flag.DurationVar(&race, "race", 0, "call all RPCs at random for this time instead")
	flag.Uint64Var(&seed, "seed", 1, "seed of the random calls")
	ctx, stop := harness.Begin()
	defer stop()
	var succeeded int
	var err error
	switch {
	case asks:
		err = probe(ctx, os.Stdin, os.Stdout)
	case list:
		for _, a := range attacks() {
			fmt.Printf("%-24s %s\n", a.name, a.what)
		}
	case race > 0:
		succeeded, err = runRace(ctx, o, race, seed)
	default:
		succeeded, err = runAll(ctx, o)
	}
	if err != nil {
		log.Print(err)
	}
	if err != nil || succeeded > 0 {
		stop()
		os.Exit(1)
	}
}

// runAll runs the attacks and prints a row for each. It returns the number that
// succeeded.
func runAll(ctx context.Context, o options) (succeeded int, err error) {
	started := time.Now()
	fmt.Printf("load of the machine: %s\n\n", load())
	fmt.Println("| attack | sent | answer | peak memory | verdict |\n| --- | --- | --- | --- | --- |")
	for _, a := range attacks() {
		if !o.selects(a.name) {
			continue
		}
		if ctx.Err() != nil {
			return succeeded, ctx.Err()
		}
		r, peak := runOne(ctx, o, a)
		verdict := "withstood"
		if len(r.broken) > 0 {
			verdict = "**succeeded**: " + strings.Join(r.broken, "; ")
			succeeded++
		}
		fmt.Printf("| %s | %s | %s | %s | %s |\n", a.name, a.what, r.answer, peak, verdict)
	}
	fmt.Printf("\n%d attacks succeeded, in %s; load of the machine: %s\n", succeeded, time.Since(started).Round(time.Second), load())
	return succeeded, nil
}

// selects reports whether the attack of a name is to run.
func (o options) selects(name string) bool {
	return slices.ContainsFunc(strings.Split(o.only, ","), func(part string) bool { return strings.Contains(name, part) })
}

// runOne runs one attack on a service of its own, and adds what every attack may achieve:
// the end of the service, and internal errors.
func runOne(ctx context.Context, o options, a attack) (result, string) {
	s, err := newArena(ctx, o, a)
	if err != nil {
		return result{broken: []string{"the attack could not be prepared: " + err.Error()}}, "-"
	}
	defer s.close()
	// Attacks have deadlines of their own; this one ends an attack that forgot one.
	bounded, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	r, err := a.run(bounded, s)
	if err != nil {
		r.breaks("the attack broke off: %v", err)
	}
	peak := megabytes(s.PeakMemory())
	if n := s.Killed(); n > 0 {
		r.breaks("%d processes were killed for lack of memory", n)
		time.Sleep(time.Second) // until the ends of processes are known
	}
	switch {
	case !s.Alive():
		r.breaks("the service died")
		peak = "over the limit"
	case !s.AwaitReady(ctx, time.Minute):
		r.breaks("the service was not ready within a minute")
	}
	if lines := s.log.internalErrors(); len(lines) > 0 {
		r.breaks("%d internal errors in the log, the first: %s", len(lines), lines[0])
	}
	if o.memory > 0 && !a.unlimited && !s.Limited {
		peak += " (no limit applies: control groups cannot be written here)"
	}
	return r, peak
}

// load returns the load averages of the machine.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// byteSize is a number of bytes that is written as 1GiB or 512MiB.
type byteSize int64

// String implements flag.Value.
func (b *byteSize) String() string { return megabytes(int64(*b)) }

// Set implements flag.Value.
func (b *byteSize) Set(text string) error {
	for unit, size := range map[string]int64{"GiB": 1 << 30, "MiB": 1 << 20} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			var n int64
			if _, err := fmt.Sscan(digits, &n); err != nil {
				return fmt.Errorf("%q is not a size such as 1GiB", text)
			}
			*b = byteSize(n * size)
			return nil
		}
	}
	if text == "0" {
		*b = 0
		return nil
	}
	return fmt.Errorf("%q is not a size such as 1GiB, 512MiB or 0", text)
}

func megabytes(n int64) string { return fmt.Sprintf("%dMiB", n>>20) }
