// Command retrieval measures ragd as a vector store against bare pgx and pgvector: the
// same data in the same server, the same SQL shape, the same search width. It starts the
// given ragd on a data directory of its own and calls it as a client does, over Connect
// and MCP.
//
//	go build -o bin/ragd ./cmd/ragd && go run ./bench/retrieval -ragd bin/ragd
//
// With -filters it measures filters instead: by the share that they keep, by equality and
// by order, independent of the vectors and correlated with them.
//
// With -weaviate PATH, the program of a Weaviate server, it measures that beside both (make bench-peers).
//
// It prints tables in Markdown. Ratios are ragd's number divided by that of bare pgx.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/ragdhq/ragd/bench/internal/harness"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
)

// options are the flags of a run.
type options struct {
	ragd      string
	vectors   int
	live      int // vectors written with the Postgres index in place
	questions int
	duration  time.Duration
	filters   bool   // measure filters instead
	weaviate  string // the program of the peer to measure beside both; empty for none
	only      string // measure the filters whose name contains it
}

func main() {
	var o options
	harness.ProgramVar(&o.ragd)
	flag.IntVar(&o.vectors, "vectors", 20_000, "vectors to load")
	flag.IntVar(&o.live, "live", 2_000, "vectors to write with the Postgres index in place")
	flag.IntVar(&o.questions, "questions", 200, "different questions")
	flag.DurationVar(&o.duration, "duration", 3*time.Second, "time for each measurement of queries")
	flag.BoolVar(&o.filters, "filters", false, "measure filters of many kinds instead")
	flag.StringVar(&o.only, "only", "", "with -filters: measure those whose name contains this text")
	flag.StringVar(&o.weaviate, "weaviate", "", "measure the Weaviate server at this path beside both, with 5,000 and with 20,000 vectors")
	harness.Main(func(ctx context.Context) error {
		if o.weaviate == "" {
			return compare(ctx, o)
		}
		for _, o.vectors = range peerSizes {
			if err := compare(ctx, o); err != nil {
				return err
			}
		}
		return nil
	})
}

// compare runs everything and prints the tables.
func compare(ctx context.Context, o options) (err error) {
	s, err := harness.Start(ctx, daemon.Config{Program: o.ragd, Args: []string{"--tenant-request-rate", "0"}})
	if err != nil {
		return err
	}
	defer s.Stop()
	r, err := connectTo(ctx, s)
	if err != nil {
		return err
	}
	b, err := openBare(ctx, s.DatabaseURL())
	if err != nil {
		return err
	}
	defer b.pool.Close()
	d := data{
		values:   synthetic.Vectors(o.vectors+o.live, 1),
		asked:    synthetic.Vectors(o.questions, 99),
		loaded:   o.vectors,
		metadata: synthetic.Metadata,
	}
	anchor := d.asked[0]
	if o.filters {
		d.values = d.values[:o.vectors]
		d.metadata = rankedMetadata(d.values, anchor)
	}
	fmt.Printf("%d vectors of %d dimensions around %d centres, topK %d\n", o.vectors, synthetic.Dimension, synthetic.Centres, topK)
	loaders := []loader{{"bare", b.write, b.build}, {"ragd", r.write, r.build}}
	var w *weaviate
	if o.weaviate != "" {
		if w, err = openWeaviate(ctx, o.weaviate); err != nil {
			return err
		}
		defer w.stop()
		loaders = append(loaders, loader{"Weaviate", w.write, func(context.Context) error { return nil }}) // searchable as it is written
	}
	if err := compareLoads(ctx, d, loaders...); err != nil {
		return err
	}
	if err := r.awaitBuilt(ctx, d.asked[0]); err != nil {
		return err
	}
	width, err := b.takeWidth(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("\nsearch width %d, as ragd measured it; recall@%d %.3f\n", width, topK, recall(ctx, d, r.query, ""))
	if w != nil {
		return comparePeers(ctx, o, d, r, b, w)
	}
	if o.filters {
		return compareEachFilter(ctx, o, d, around(anchor, o.questions), r, b)
	}
	if err := compareQueries(ctx, o, d, r, b); err != nil {
		return err
	}
	if err := compareFilters(ctx, o, d, r, b); err != nil {
		return err
	}
	return compareLive(ctx, d, r, b)
}
