package main

import (
	"context"
	"fmt"
	"time"
)

// Vectors per writing call, in a bulk load and with the index in place.
const (
	loadBatch = 1000
	liveBatch = 100
)

// loader is a system into which vectors are loaded.
type loader struct {
	name  string
	write func(ctx context.Context, d data, from, to int) error
	build func(ctx context.Context) error
}

// shares are the filters for which a field of package synthetic is 1.
var shares = []struct{ keeps, field string }{
	{"50 %", "half"}, {"10 %", "tenth"}, {"5 %", "twentieth"}, {"1 %", "hundredth"}, {"0.1 %", "thousandth"},
}

// compareLoads loads each side, into an empty table, and then builds the index over
// the embeddings.
func compareLoads(ctx context.Context, d data, sides ...loader) error {
	fmt.Printf("\n| bulk load | write | build | vectors/s | ratio |\n| --- | --- | --- | --- | --- |\n")
	floor := 0.0
	for _, side := range sides {
		start := time.Now()
		if err := inBatches(ctx, d, 0, d.loaded, loadBatch, side.write); err != nil {
			return err
		}
		written := time.Since(start)
		if err := side.build(ctx); err != nil {
			return err
		}
		all := time.Since(start)
		perSecond := float64(d.loaded) / all.Seconds()
		if floor == 0 {
			floor = perSecond
		}
		fmt.Printf("| %s | %.2f s | %.2f s | %.0f | %.2f |\n", side.name, written.Seconds(), (all - written).Seconds(), perSecond, perSecond/floor)
	}
	return nil
}

// compareLive measures writes with the Postgres index in place.
func compareLive(ctx context.Context, d data, r *ragd, b *bare) error {
	fmt.Printf("\n| live writes of %d | vectors/s | ratio |\n| --- | --- | --- |\n", liveBatch)
	floor := 0.0
	for _, side := range []struct {
		name  string
		write func(ctx context.Context, d data, from, to int) error
	}{{"bare", b.write}, {"ragd", r.write}} {
		start := time.Now()
		if err := inBatches(ctx, d, d.loaded, len(d.values), liveBatch, side.write); err != nil {
			return err
		}
		perSecond := float64(len(d.values)-d.loaded) / time.Since(start).Seconds()
		if floor == 0 {
			floor = perSecond
		}
		fmt.Printf("| %s | %.0f | %.2f |\n", side.name, perSecond, perSecond/floor)
	}
	return nil
}

func inBatches(ctx context.Context, d data, from, to, size int, write func(ctx context.Context, d data, from, to int) error) error {
	for ; from < to; from += size {
		if err := write(ctx, d, from, min(from+size, to)); err != nil {
			return err
		}
	}
	return nil
}

// compareQueries measures queries for the nearest of all vectors.
func compareQueries(ctx context.Context, o options, d data, r *ragd, b *bare) error {
	fmt.Printf("\n| query, clients | p50 ms | p99 ms | queries/s | p50 ratio | queries/s ratio | client CPU us | ragd CPU us | PostgreSQL CPU us |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	sides := []side{
		{"bare", func(ctx context.Context, n int) error { _, err := b.query(ctx, d.question(n), ""); return err }},
		{"ragd over Connect", func(ctx context.Context, n int) error { _, err := r.query(ctx, d.question(n), ""); return err }},
		{"ragd over MCP", func(ctx context.Context, n int) error { return r.ask(ctx, d.question(n)) }},
		{"ragd over MCP, plain client", func(ctx context.Context, n int) error { _, err := r.plain.query(ctx, d.question(n), ""); return err }},
	}
	for _, clients := range []int{1, 8} {
		rates, err := measure(ctx, clients, o.duration, sides, r.used)
		if err != nil {
			return err
		}
		for n, got := range rates {
			fmt.Printf("| %s, %d | %s | %s | %.0f | %.2f | %.2f | %s |\n", sides[n].name, clients, ms(got.p50), ms(got.p99), got.perSecond,
				float64(got.p50)/float64(rates[0].p50), got.perSecond/rates[0].perSecond, got.used.per(got.calls))
		}
	}
	return nil
}

// compareFilters measures queries with filters, one client at a time.
func compareFilters(ctx context.Context, o options, d data, r *ragd, b *bare) error {
	fmt.Printf("\n| filter keeps | bare p50 ms | bare recall@%d | ragd p50 ms | ragd p99 ms | ragd recall@%[1]d |\n| --- | --- | --- | --- | --- | --- |\n", topK)
	b.iterate()
	for _, share := range shares {
		rates, err := measure(ctx, 1, o.duration, []side{
			{"bare", func(ctx context.Context, n int) error { _, err := b.query(ctx, d.question(n), share.field); return err }},
			{"ragd", func(ctx context.Context, n int) error { _, err := r.query(ctx, d.question(n), share.field); return err }},
		}, r.used)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %s | %.3f | %s | %s | %.3f |\n", share.keeps, ms(rates[0].p50), recall(ctx, d, b.query, share.field),
			ms(rates[1].p50), ms(rates[1].p99), recall(ctx, d, r.query, share.field))
	}
	return nil
}
