package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// choice is a way to choose the tenant of a query among the first n.
type choice struct {
	name string
	n    int
	next func() int
}

// choices returns the ways to choose among the first n tenants: all alike, and by Zipf's
// law, where few tenants get most queries.
func choices(n int) []choice {
	const exponent = 1.1
	r := rand.New(rand.NewPCG(uint64(n), 11))
	order := r.Perm(n)
	zipf := rand.NewZipf(r, exponent, 1, uint64(n-1))
	return []choice{
		{"Zipf", n, func() int { return order[zipf.Uint64()] }},
		{"uniform", n, func() int { return r.IntN(n) }},
	}
}

// asked are the latencies of many queries and the processor time that they took.
type asked struct {
	latencies    []time.Duration
	took         time.Duration
	ragd, server time.Duration
}

func (a *asked) add(other asked) {
	a.latencies = append(a.latencies, other.latencies...)
	a.took, a.ragd, a.server = a.took+other.took, a.ragd+other.ragd, a.server+other.server
}

func (a *asked) p50() time.Duration { return percentile(a.latencies, 50) }

func (a *asked) row(c choice, n int) string {
	queries := float64(len(a.latencies))
	return fmt.Sprintf("%d tenants, %s | %s | %s | %.0f | %.0f | %.0f", n, c.name, ms(a.p50()), ms(percentile(a.latencies, 99)),
		queries/a.took.Seconds(), float64(a.ragd.Microseconds())/queries, float64(a.server.Microseconds())/queries)
}

// ask asks tenants of the choice, one question at a time, for the duration.
func (b *bench) ask(ctx context.Context, c choice, duration time.Duration) (a asked, err error) {
	ragd, server := b.daemon.CPU(), serverCPU(b.daemon.Postmaster())
	begin := time.Now()
	for start := begin; start.Sub(begin) < duration; {
		if err := b.calls.ask(ctx, b.made[c.next()].key, len(a.latencies)); err != nil {
			return a, err
		}
		end := time.Now()
		a.latencies = append(a.latencies, end.Sub(start))
		start = end
	}
	a.took = time.Since(begin)
	a.ragd, a.server = b.daemon.CPU()-ragd, serverCPU(b.daemon.Postmaster())-server
	return a, nil
}

// askStage measures queries among all tenants so far, each choice after a warm-up.
func (b *bench) askStage(ctx context.Context) (rows []string, err error) {
	for _, c := range choices(len(b.made)) {
		if _, err := b.ask(ctx, c, b.duration/2); err != nil {
			return nil, err
		}
		a, err := b.ask(ctx, c, b.duration)
		if err != nil {
			return nil, err
		}
		rows = append(rows, a.row(c, c.n))
	}
	return rows, nil
}

// rounds is how often the sets of tenants take turns.
const rounds = 8

// interleaved measures queries among the first few and among more tenants in turns, so
// that other load of the machine is the same for all.
func (b *bench) interleaved(ctx context.Context) error {
	var all []choice
	for _, n := range stages(b.tenants) {
		all = append(all, choices(n)...)
	}
	results := make([]asked, len(all))
	for range rounds {
		for n, c := range all {
			a, err := b.ask(ctx, c, b.duration/rounds)
			if err != nil {
				return err
			}
			results[n].add(a)
		}
	}
	goals := map[string]float64{"Zipf": goalZipf, "uniform": goalUniform}
	var rows []string
	for n, c := range all {
		base := results[n%2] // the same choice among the first few
		rows = append(rows, fmt.Sprintf("%s | %.2f | %.2f", results[n].row(c, c.n), float64(results[n].p50())/float64(base.p50()), goals[c.name]))
	}
	printTable(fmt.Sprintf("hybrid query, in turns, %d tenants exist | p50 | p99 | queries/s | ragd CPU us/query | server CPU us/query | p50 / p50 of %d | goal |", b.tenants, few), rows)
	printTable("memory | ragd private | ragd heap | connections | largest backend private | largest backend Pss | all backends Pss |", []string{b.memoryRow("asked in turns")})
	return nil
}
