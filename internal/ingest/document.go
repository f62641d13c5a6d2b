package ingest

import (
	"time"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Limits of an upload. Sizes are bytes.
const (
	MaxContentBytes     = 16 << 20 // of a document sent in one message
	maxURIBytes         = 2048
	maxTitleBytes       = 1024
	maxFingerprintBytes = 128
	titleBytes          = 64 << 10 // of the text that are searched for a title
)

// Document is an uploaded document without its content.
type Document struct {
	DocumentID    string
	Namespace     string // of the index
	URI           string // unique in the namespace
	Title         string
	ContentType   string
	Metadata      map[string]any
	ContentHash   string // SHA-256 in hex over the bytes and the settings they are processed with
	ContentSHA256 []byte // of the bytes alone
	Version       int    // incremented by every new content, retry and cancellation
	Status        string
	Error         string // safe to show to callers
	Notice        string // what a ready document lacks, safe to show to callers; empty for nothing
	ChunkCount    int
	ByteSize      int64
	TextBytes     *int64 // size of the text that was read from the content; nil if there is none
	TextType      string // its content type
	JobID         string
	Fingerprint   string // the uploader's
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// States of a document.
const (
	DocumentPending    = "pending"
	DocumentProcessing = "processing"
	DocumentReady      = "ready"
	DocumentFailed     = "failed"
	DocumentNeedsOCR   = "needs_ocr" // scanned pages, of which nothing could be read
	DocumentDeleting   = "deleting"
)

var documentStates = []string{DocumentPending, DocumentProcessing, DocumentReady, DocumentFailed, DocumentNeedsOCR, DocumentDeleting}

// Chunk is a stored piece of a document.
type Chunk struct {
	ChunkID    string
	DocumentID string
	Ordinal    int // from 0, in reading order
	Text       string
	Metadata   map[string]any
	StartByte  int // in the text extracted from the document
	EndByte    int
	TokenCount int
}

// name identifies a document within its index.
type name struct{ namespace, uri string }

func (d Document) name() name { return name{d.Namespace, d.URI} }

// Ref names a document of an index by id or by uri.
type Ref struct {
	DocumentID string
	URI        string
	Namespace  string // of the uri; index.DefaultNamespace if empty
}

// check requires exactly one of id and uri. Errors: Invalid; NotFound for an id or a uri
// that no document can have.
func (r *Ref) check() (err error) {
	if r.Namespace, err = index.Namespace(r.Namespace); err != nil {
		return err
	}
	if (r.DocumentID == "") == (r.URI == "") {
		return fault.Field("documentId", "exactly one of documentId and uri must be given")
	}
	if r.DocumentID != "" && !isID(r.DocumentID) || textlimit.Check("uri", r.URI, maxURIBytes) != nil {
		return r.notFound()
	}
	return nil
}

// isID reports whether s has the form of our ids, the 36 characters of a uuid. Go accepts
// other forms, some of which PostgreSQL rejects.
func isID(s string) bool { return len(s) == len(uuid.Nil.String()) && uuid.Validate(s) == nil }

func (r Ref) notFound() error {
	if r.URI != "" {
		return fault.New(fault.NotFound, "document with uri %q not found", shorten(r.URI))
	}
	if !isID(r.DocumentID) {
		return fault.New(fault.NotFound, "document %q not found: this is not an id, which has 36 characters; name a document by its uri in the field uri", shorten(r.DocumentID))
	}
	return fault.New(fault.NotFound, "document %q not found", shorten(r.DocumentID))
}

// shorten shortens a caller's text for use in an error message.
func shorten(s string) string { return textlimit.Shorten(s, 200) }
