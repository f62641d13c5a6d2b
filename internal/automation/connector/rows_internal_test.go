package connector

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"
)

// generated is a database with so many rows, none of which is stored anywhere.
type generated int

func (generated) newest(context.Context) (string, error) { return "", nil }

func (n generated) page(_ context.Context, after, _ *string) (page []listedRow, err error) {
	last := 0
	if after != nil {
		if last, err = strconv.Atoi(*after); err != nil {
			return nil, err
		}
	}
	for i := last + 1; i <= int(n) && len(page) < rowsPerPage; i++ {
		page = append(page, listedRow{ID: fmt.Sprintf("%07d", i), Updated: "now", Size: 100})
	}
	return page, nil
}

func (generated) read(_ context.Context, listed []listedRow, each func(readRow) error) error {
	for _, row := range listed {
		if err := each(readRow{ID: row.ID, Text: fmt.Sprintf("%0100s", row.ID), Columns: "{}"}); err != nil {
			return err
		}
	}
	return nil
}

// heapOf returns the largest heap during a walk of so many rows.
func heapOf(t *testing.T, rows int) (most uint64) {
	t.Helper()
	var visited int
	settings := &Rows{Query: "SELECT"}
	if err := settings.complete("postgres"); err != nil {
		t.Fatal(err)
	}
	r := &reading{
		walking: walking{
			fetch: &fetcher{maxItems: maxItems}, maxItems: maxItems, connector: "site", known: nothingKnown, expect: nothingExpected,
			reached: func(context.Context, position) error {
				runtime.GC()
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
				return nil
			},
		},
		Rows: settings, database: generated(rows), scheme: "postgres", visit: func(Item) error { visited++; return nil },
	}
	if _, err := r.walk(t.Context()); err != nil || visited != rows {
		t.Fatalf("%d of %d rows: %v", visited, rows, err)
	}
	return most
}

// It is not parallel: others would share the heap.
func TestTheMemoryOfAWalkDoesNotGrowWithItsRows(t *testing.T) {
	few, many := heapOf(t, 10*rowsPerPage+1), heapOf(t, 100*rowsPerPage+1)
	const tolerated = 1 << 20
	if many > few+tolerated {
		t.Errorf("%d bytes for many rows, %d for few", many, few)
	}
	t.Logf("%d kB for 10,000 rows, %d kB for 100,000", few>>10, many>>10)
}
