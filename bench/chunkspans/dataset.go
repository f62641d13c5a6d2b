package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// dataset has documents and questions about them.
type dataset struct {
	documents []document
	questions []question
}

type document struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

type question struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	gold []goldSpan
}

// goldSpan is a span of a document that answers a question.
type goldSpan struct {
	document   int // index in dataset.documents
	start, end int // byte positions
}

func readDataset(dir string) (*dataset, error) {
	set := &dataset{}
	err := eachLine(filepath.Join(dir, "corpus.jsonl.gz"), func(line string) error {
		var d document
		err := json.Unmarshal([]byte(line), &d)
		set.documents = append(set.documents, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = eachLine(filepath.Join(dir, "queries.jsonl.gz"), func(line string) error {
		var q question
		err := json.Unmarshal([]byte(line), &q)
		set.questions = append(set.questions, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return set, set.readSpans(filepath.Join(dir, "spans.tsv.gz"))
}

func (set *dataset) readSpans(path string) error {
	documents, questions := map[string]int{}, map[string]int{}
	offsets := make([][]int, len(set.documents)) // byte position of every character
	for i, d := range set.documents {
		documents[d.ID] = i
		for at := range d.Text {
			offsets[i] = append(offsets[i], at)
		}
		offsets[i] = append(offsets[i], len(d.Text))
	}
	for i, q := range set.questions {
		questions[q.ID] = i
	}
	heading := true
	return eachLine(path, func(line string) error {
		if heading {
			heading = false
			return nil
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			return fmt.Errorf("%q has %d fields, want 4", line, len(f))
		}
		q, okQuestion := questions[f[0]]
		d, okDocument := documents[f[1]]
		start, errStart := strconv.Atoi(f[2])
		end, errEnd := strconv.Atoi(f[3])
		if !okQuestion || !okDocument || errStart != nil || errEnd != nil || start < 0 || start > end || end >= len(offsets[d]) {
			return fmt.Errorf("%q names no span of the data set", line)
		}
		gold := goldSpan{document: d, start: offsets[d][start], end: offsets[d][end]}
		set.questions[q].gold = append(set.questions[q].gold, gold)
		return nil
	})
}

func eachLine(path string, do func(line string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := do(lines.Text()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return lines.Err()
}
