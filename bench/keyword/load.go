package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

const (
	dimension = 3
	batch     = 1_000 // entries of an upsert
	writers   = 2
	// patience is how long the background work after a load may take.
	patience = 20 * time.Minute
)

// load upserts the passages and waits until their terms have been counted.
func (a *arena) load(ctx context.Context) error {
	before := a.usage()
	if err := a.upsert(ctx, 0, a.passages, 1); err != nil {
		return err
	}
	loaded := a.usage()
	fmt.Printf("loaded %d passages, %.0f/s: %s\n", a.passages,
		float64(a.passages)/loaded.at.Sub(before.at).Seconds(), loaded.since(before))
	if err := a.awaitCounts(ctx); err != nil {
		return err
	}
	fmt.Printf("background work until the terms are counted: %s\n", a.usage().since(loaded))
	return a.printSizes(ctx)
}

// upsert writes the passages of a range of numbers, made from a seed.
func (a *arena) upsert(ctx context.Context, from, to int, seed uint64) error {
	batches := make(chan *ragdv1.UpsertRequest)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(batches)
		l := newLanguage(seed)
		for n := from; n < to; n += batch {
			req := &ragdv1.UpsertRequest{IndexName: indexName}
			for id := n; id < min(n+batch, to); id++ {
				ranks, _ := l.passage()
				req.Entries = append(req.Entries, &ragdv1.Entry{Id: strconv.Itoa(id), Values: []float32{1, 0, 0}, Document: text(ranks)})
			}
			select {
			case batches <- req:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range writers {
		group.Go(func() error {
			for req := range batches {
				if _, err := a.vectors.Upsert(ctx, req); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// replace upserts the first passages again with other texts.
func (a *arena) replace(ctx context.Context) error {
	before := a.usage()
	n := int(float64(a.passages) * a.churn)
	if err := a.upsert(ctx, 0, n, 2); err != nil {
		return err
	}
	fmt.Printf("replaced %d passages: %s\n", n, a.usage().since(before))
	return nil
}

// awaitCounts waits until the terms of most passages have been counted, as many as ragd waits for, and no
// maintenance runs.
func (a *arena) awaitCounts(ctx context.Context) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		var done bool
		err := a.database.QueryRow(ctx, `
			SELECT counted_chunks > $1 AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid())
			FROM tenant_bench.indexes`, a.passages*3/4).Scan(&done)
		if err != nil || done {
			return err
		}
	}
	return fmt.Errorf("the terms are not counted after %v", patience)
}

// printSizes prints the sizes of the tables and Postgres indexes of the index.
func (a *arena) printSizes(ctx context.Context) error {
	rows, err := a.database.Query(ctx, `
		SELECT c.relname::text, coalesce(pg_table_size(c.oid), 0) FROM pg_class AS c
		WHERE c.relnamespace = 'tenant_bench'::regnamespace AND pg_table_size(c.oid) > 1000000 ORDER BY 2 DESC`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var bytes int64
		if err := rows.Scan(&name, &bytes); err != nil {
			return err
		}
		fmt.Printf("%s: %.1f MB\n", name, float64(bytes)/1e6)
	}
	return rows.Err()
}
