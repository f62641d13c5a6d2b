// Package localfiles reads documents for an upload: from files and folders, or from
// JSON Lines. It streams, so that memory holds one document at a time whatever
// the size of the corpus, and it talks to no service.
//
//	for doc, err := range corpus.Files(".", "handbook", "README.md") {
//		// err is a *Skip (passed over on purpose) or a *Problem; both name the place
//	}
//
// After an error the sequence goes on with the next document where there is one.
package localfiles

import "fmt"

// Limits of one document. The service refuses more than MaxDocument; a line is in
// memory as a whole.
const (
	MaxDocument = 256 << 20 // bytes
	MaxLine     = 32 << 20  // bytes
)

// Document is one document as it was found. The reader keeps nothing of it.
type Document struct {
	// Place is where the document was found, for messages: a path, or a path and
	// a line, such as "corpus.jsonl.gz:17".
	Place string
	// URI names the document within its index and stays the same from run to run:
	// the relative path of a file, the id of a JSON line.
	URI         string
	Title       string
	ContentType string
	// Content are the bytes of a file of a format that the service can read, Text is
	// the field of a JSON line, valid UTF-8. A document has one of them.
	Content  []byte
	Text     string
	Metadata map[string]any
	// InputBytes is how far this document moved the reader in its input, which for
	// compressed JSON Lines is counted in compressed bytes. Against Size it gives
	// the progress.
	InputBytes int64
}

// Skip says that something was passed over on purpose. It is no failure.
type Skip struct {
	Place  string
	Reason string
}

func (s *Skip) Error() string { return fmt.Sprintf("%s: skipped: %s", s.Place, s.Reason) }

// Problem says that something that should have been a document is none.
type Problem struct {
	Place  string
	Reason string
}

func (p *Problem) Error() string { return p.Place + ": " + p.Reason }

func problem(place, format string, args ...any) *Problem {
	return &Problem{Place: place, Reason: fmt.Sprintf(format, args...)}
}
