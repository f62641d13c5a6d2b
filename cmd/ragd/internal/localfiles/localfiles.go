// Package localfiles reads documents for an upload: from files and folders, or from
// JSON Lines. It streams: memory holds one document at a time. It calls no service.
//
//	for doc, err := range localfiles.Options{Base: "."}.Files("handbook", "README.md") {
//		// err is a *Skip (skipped on purpose) or a *Problem; both name the location
//	}
//
// After an error the sequence goes on with the next document, if there is one.
package localfiles

import (
	"fmt"
	"time"
)

// Limits of one document and of one line of JSON Lines. The service refuses larger
// documents; a whole line is held in memory.
const (
	MaxDocument = 256 << 20 // bytes
	MaxLine     = 32 << 20  // bytes
)

// Document is one document as it was read. The caller may keep and change it.
type Document struct {
	// Location is where the document was found, for messages: a path, or a path with a
	// line number, such as "corpus.jsonl.gz:17".
	Location string
	// URI identifies the document within its index and is the same in every run: the
	// relative path of a file, the id of a JSON line.
	URI         string
	Title       string
	ContentType string
	// Content is the content of a file in a format that the service can read. Text is
	// the text of a JSON line, valid UTF-8. Only one of them is set.
	Content  []byte
	Text     string
	Metadata map[string]any
	// Modified is when the file was changed, zero if that is not known.
	Modified time.Time
	// InputBytes is the number of input bytes read for this document, of compressed
	// JSON Lines the compressed bytes. Their sum over Size is the progress.
	InputBytes int64
	// Warning is what is unusual about the document, for the user: front matter that
	// cannot be read. It is empty for most.
	Warning string
}

// Skip reports a file that was skipped on purpose. It is not a failure.
type Skip struct {
	Location string
	Reason   string
}

// Error implements error.
func (s *Skip) Error() string { return fmt.Sprintf("%s: skipped: %s", s.Location, s.Reason) }

// Problem reports a file or line that should be a document and cannot be read as one.
type Problem struct {
	Location string
	Reason   string
}

// Error implements error.
func (p *Problem) Error() string { return p.Location + ": " + p.Reason }

func problem(location, format string, args ...any) *Problem {
	return &Problem{Location: location, Reason: fmt.Sprintf(format, args...)}
}
