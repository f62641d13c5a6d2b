package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// memoryInterval is the interval between two reports of ragd's memory.
const memoryInterval = 10 * time.Second

// streamedBytes is about how long the documents of a stream are.
const streamedBytes = 4000

// stream sends the corpus again and again, under other ids, until as many bytes of text as
// the options say have gone through one `ragd ingest` with a single upload stream.
func (a *arena) stream(ctx context.Context, docs []document) error {
	docs = join(docs, streamedBytes)
	reader, writer := io.Pipe()
	sent := 0
	go func() {
		var bytes int64
		for round := 0; bytes < a.bytes; round++ {
			for at := 0; at < len(docs) && bytes < a.bytes; at += 100 {
				some := docs[at:min(at+100, len(docs))]
				n, err := write(writer, fmt.Sprintf("%d/", round), some)
				if err != nil {
					_ = writer.CloseWithError(err)
					return
				}
				bytes, sent = bytes+n, sent+len(some)
			}
		}
		_ = writer.Close()
	}()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go a.watch(watching)
	done, cost, err := a.ingest(ctx, "stream", reader, "--concurrency", "1", "-")
	if err != nil {
		return err
	}
	seconds := cost.at.Sub(time.Time{}).Seconds()
	fmt.Printf("sent %d documents; ready %d, failed %d, in %.0f s: %.0f documents/s\n", sent, done.Ready, done.Failed, seconds, float64(done.Ready)/seconds)
	fmt.Printf("processor seconds: client %.0f, ragd %.0f, PostgreSQL %.0f; WAL %d MB\n", cost.client.Seconds(), cost.ragd.Seconds(), cost.database.Seconds(), cost.wal>>20)
	fmt.Printf("peak memory of ragd %d MB\n", a.daemon.PeakMemory()>>20)
	if done.Ready != sent {
		return fmt.Errorf("%d of %d documents are ready", done.Ready, sent)
	}
	return nil
}

// watch prints the memory of ragd until ctx ends.
func (a *arena) watch(ctx context.Context) {
	start := time.Now()
	ticker := time.NewTicker(memoryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			fmt.Printf("after %3.0f s: memory of ragd %d MB, peak %d MB with its program\n", time.Since(start).Seconds(),
				a.daemon.PrivateMemory()>>20, a.daemon.PeakMemory()>>20)
		}
	}
}
