// Command chunkspans measures how well the strategies of package chunk keep
// answers together. It cuts the documents of a data set, retrieves chunks for
// its questions by BM25, and compares them with the spans of the documents that
// answer the questions.
//
//	go run ./bench/chunkspans DIR
//
// DIR has the files corpus.jsonl.gz (id, text), queries.jsonl.gz (id, text) and
// spans.tsv.gz (query_id, doc_id, and start and end in characters, below a header
// line). The result is a Markdown table on standard output.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/ragdhq/ragd/internal/chunk"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: chunkspans DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "chunkspans:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	set, err := readDataset(dir)
	if err != nil {
		return err
	}
	fmt.Println("| strategy | size | overlap | chunks | recall | precision | IoU | characters | recall at 4,000 |")
	fmt.Println("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, c := range configurations() {
		opts, err := c.Options()
		if err != nil {
			return err
		}
		s, err := evaluate(context.Background(), set, opts)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %d | %d | %d | %.3f | %.3f | %.3f | %.0f | %.3f |\n", opts.Strategy, opts.MaxSize, opts.Overlap,
			s.chunks, s.recall, s.precision, s.iou, s.characters, s.recallAtBudget)
	}
	return nil
}

// configurations returns the settings to measure, one for each row of the table.
func configurations() []chunk.Settings {
	var out []chunk.Settings
	add := func(strategy chunk.Strategy, size, overlap int) {
		out = append(out, chunk.Settings{Strategy: strategy, MaxSize: &size, Overlap: &overlap})
	}
	for _, size := range []int{200, 300, 400, 500, 600, 800, 1000, 1200, 1600, 2000, 4000} {
		for _, overlap := range []int{0, size / 8, size / 4} {
			add(chunk.Recursive, size, overlap)
		}
	}
	for _, size := range []int{300, 500, 800, 1200} {
		add(chunk.Sentence, size, 0)
		add(chunk.Sentence, size, size/4)
	}
	for _, size := range []int{100, 200, 400} {
		add(chunk.Token, size, 0)
		add(chunk.Token, size, size/4)
	}
	return out
}
