package main

import (
	"context"
	"fmt"
)

// peerSizes are the numbers of vectors with which peers are compared.
var peerSizes = []int{5_000, 20_000}

// found is a compared system whose answers are looked at, too.
type found struct {
	name  string
	query func(ctx context.Context, question []float32, field string) ([]string, error)
}

// comparePeers measures the same queries of all systems, without a filter from one client and from eight, and with
// filters from one. Each keeps its own search width; bare pgx has the default of pgvector.
func comparePeers(ctx context.Context, o options, d data, r *ragd, b *bare, w *weaviate) error {
	used := func() cpu {
		c := r.used()
		c.ragd += usedByProcess(w.command.Process.Pid)
		return c
	}
	b.iterate()
	all := []found{{"bare pgx", b.query}, {"Weaviate, gRPC", w.query}, {"ragd, Connect", r.query}, {"ragd, MCP", r.plain.query}}
	fmt.Printf("\n| vectors | filter keeps | clients | system | p50 ms | p99 ms | queries/s | recall@%d | CPU us: client | server | PostgreSQL |\n", topK)
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	show := func(keeps, field string, clients int, systems []found) error {
		sides := make([]side, len(systems))
		for n, s := range systems {
			sides[n] = side{s.name, func(ctx context.Context, n int) error { _, err := s.query(ctx, d.question(n), field); return err }}
		}
		rates, err := measure(ctx, clients, o.duration, sides, used)
		if err != nil {
			return err
		}
		for n, got := range rates {
			fmt.Printf("| %d | %s | %d | %s | %s | %s | %.0f | %.3f | %s |\n", d.loaded, keeps, clients, systems[n].name,
				ms(got.p50), ms(got.p99), got.perSecond, recall(ctx, d, systems[n].query, field), got.used.per(got.calls))
		}
		return nil
	}
	for _, clients := range []int{1, 8} {
		if err := show("all", "", clients, all); err != nil {
			return err
		}
	}
	for _, share := range shares {
		if err := show(share.keeps, share.field, 1, all); err != nil {
			return err
		}
	}
	return nil
}
