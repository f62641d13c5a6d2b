package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/metadata"
	"github.com/ragdhq/ragd/internal/parse"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Upload is a document as a caller sends it.
type Upload struct {
	IndexName   string
	URI         string         // made from the document's id if empty
	Title       string         // found in the document if empty
	ContentType string         // found from the uri and the bytes if empty
	Content     []byte         // text, or a file of a format that parse knows
	Metadata    map[string]any // copied into every chunk's
	Chunking    map[string]any // as chunk.ParseOptions takes them; the index's if empty
}

// Upload stores a document and starts the job that makes it searchable. The
// same bytes with the same settings again change nothing: the document is
// returned with the job that made it. Errors: Invalid naming the field, NotFound
// for an unknown index, Precondition for an index of ready-made vectors.
func (s *Service) Upload(ctx context.Context, u Upload) (Document, Job, error) {
	r, err := tenant.Require(ctx, tenant.Write)
	if err != nil {
		return Document{}, Job{}, err
	}
	if err := u.check(); err != nil {
		return Document{}, Job{}, err
	}
	into, err := s.indexes.Resolve(ctx, r.Tenant, firstOf(r.Overrides.IndexName, u.IndexName))
	if err != nil {
		return Document{}, Job{}, err
	}
	if into.EmbeddingModel == "" {
		return Document{}, Job{}, fault.New(fault.Precondition, "index %q has no embedding model: it takes ready-made vectors, not documents", into.Name)
	}
	d, err := u.document(into)
	if err != nil {
		return Document{}, Job{}, err
	}
	if visible := r.Principal.MandatoryFilter; !visible.IsZero() && !visible.Match(d.Metadata) {
		return Document{}, Job{}, fault.New(fault.Denied, "this credential's mandatory filter does not let it write a document with this metadata")
	}
	document, job, err := s.store(ctx, r.Tenant, into, d, r.Principal.MandatoryFilter)
	if isGone(err) {
		s.indexes.Forget(r.Tenant, into.Name)
		return Document{}, Job{}, fault.New(fault.NotFound, "index %q not found: it was deleted", into.Name)
	}
	return document, job, err
}

// store writes the document and its job and queues the work, in one transaction,
// with other uploads where nothing sets them apart.
func (s *Service) store(ctx context.Context, id tenant.ID, into index.Index, d newDocument, visible filter.Filter) (Document, Job, error) {
	if visible.IsZero() {
		return s.gather.add(ctx, id, into, d)
	}
	stored, err := s.storeAll(ctx, id, into, []newDocument{d}, visible)
	if err != nil {
		return Document{}, Job{}, err
	}
	return stored[0].document, stored[0].job, stored[0].err
}

// firstOf returns what the request context says, else what the body says.
func firstOf(override *string, body string) string {
	if override != nil {
		return *override
	}
	return body
}

// newDocument is an upload, checked and completed, on its way into the store.
type newDocument struct {
	Document
	chunking map[string]any
	content  []byte
}

func (u Upload) document(into index.Index) (newDocument, error) {
	d := newDocument{content: u.Content, chunking: u.Chunking}
	d.DocumentID = uuid.Must(uuid.NewV7()).String()
	d.JobID = uuid.Must(uuid.NewV7()).String()
	d.URI, d.Title, d.Metadata = u.URI, u.Title, u.Metadata
	d.ByteSize = int64(len(u.Content))
	if d.URI == "" {
		d.URI = "document:" + d.DocumentID
	}
	if d.Metadata == nil {
		d.Metadata = map[string]any{}
	}
	var format parse.Format
	var err error
	if format, d.ContentType, err = contentType(u.ContentType, u.URI, u.Content); err != nil {
		return d, err
	}
	if len(d.chunking) == 0 {
		d.chunking = into.Chunking
	}
	if format.IsText() && (keepsSource(d.chunking, format) || !parse.IsEncoded(format, u.Content)) {
		if err := checkUTF8(u.Content); err != nil {
			return d, err
		}
	}
	// Of what is no text, the title is found when it is read.
	if d.Title == "" && format.IsText() {
		d.Title = parse.TitleOf(d.ContentType, string(u.Content))
	}
	if _, err := chunk.ParseRetrievalOptions(textType(d.chunking, format, d.ContentType), d.URI, d.chunking); err != nil {
		return d, fault.Under("chunking", err)
	}
	d.ContentHash, err = d.hash(into)
	return d, err
}

// hash is over everything that decides what the chunks will be.
func (d newDocument) hash(into index.Index) (string, error) {
	settings, err := json.Marshal([]any{d.Title, d.ContentType, d.Metadata, d.chunking, into.EmbeddingModel})
	if err != nil {
		return "", fmt.Errorf("hash the settings of a document: %w", err)
	}
	h := sha256.New()
	h.Write(settings)
	h.Write([]byte{0})
	h.Write(d.content)
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (u Upload) check() error {
	if err := checkText("uri", u.URI, maxURIBytes); err != nil {
		return err
	}
	if err := checkText("title", u.Title, maxTitleBytes); err != nil {
		return err
	}
	if len(u.Content) > MaxContentBytes {
		return fault.Field("content", "is %d bytes, over the limit of %d: split it, or upload it in parts", len(u.Content), MaxContentBytes)
	}
	if len(bytes.TrimSpace(u.Content)) == 0 {
		return fault.Field("text", "is empty: there is nothing to search in it")
	}
	_, err := metadata.Marshal("metadata", u.Metadata)
	return err
}

// checkText refuses what PostgreSQL cannot store in a text column.
func checkText(field, s string, maxBytes int) error {
	switch {
	case len(s) > maxBytes:
		return fault.Field(field, "is %d bytes, over the limit of %d", len(s), maxBytes)
	case !utf8.ValidString(s):
		return fault.Field(field, "is not valid UTF-8")
	case strings.ContainsRune(s, 0):
		return fault.Field(field, "contains a null character")
	}
	return nil
}

func checkUTF8(content []byte) error {
	if at := bytes.IndexByte(content, 0); at >= 0 {
		return fault.Field("content", "has a null character at offset %d: it is not text", at)
	}
	if !utf8.Valid(content) {
		return fault.Field("content", "is not valid UTF-8 (first bad byte at offset %d): convert it to UTF-8 text", firstInvalidByte(content))
	}
	return nil
}

func firstInvalidByte(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(b)
}
