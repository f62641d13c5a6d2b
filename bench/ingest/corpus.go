package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// document is a line of a corpus.
type document struct {
	ID       string         `json:"id"`
	Title    string         `json:"title,omitempty"`
	Text     string         `json:"text"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// load reads a file of JSON Lines, or makes up passages if there is none.
func load(path string) ([]document, error) {
	if path == "" {
		return rareWords(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = bufio.NewReader(f)
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, err
		}
	}
	var docs []document
	for lines := json.NewDecoder(r); ; {
		var d document
		if err := lines.Decode(&d); errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		docs = append(docs, d)
	}
}

// rareWords returns passages of words that each occur in some thirty of them: the worst
// case of the graph, which looks for what texts mention.
func rareWords() []document {
	const passages, words, vocabulary = 5000, 120, 20011
	docs := make([]document, passages)
	for i := range docs {
		var text strings.Builder
		for j := range words {
			fmt.Fprintf(&text, "word%d ", (i*7919+j*j*31)%vocabulary)
		}
		docs[i] = document{ID: fmt.Sprint("passage/", i), Text: text.String()}
	}
	return docs
}

// write writes documents as JSON Lines. Each has an id that begins with prefix.
func write(w io.Writer, prefix string, docs []document) (bytesOfText int64, err error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, d := range docs {
		d.ID = prefix + d.ID
		if err := encoder.Encode(d); err != nil {
			return 0, err
		}
		bytesOfText += int64(len(d.Text))
	}
	_, err = w.Write(lines.Bytes())
	return bytesOfText, err
}

// join joins the texts of neighbouring documents to texts of about as many bytes as given.
func join(docs []document, bytes int) (joined []document) {
	for _, d := range docs {
		if last := len(joined) - 1; last >= 0 && len(joined[last].Text) < bytes {
			joined[last].Text += "\n\n" + d.Text
		} else {
			joined = append(joined, d)
		}
	}
	return joined
}
