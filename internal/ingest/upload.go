package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/metadata"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

// Upload is a document as a caller sends it.
type Upload struct {
	IndexName   string
	Namespace   string            // index.DefaultNamespace if empty
	URI         string            // made from the document's id if empty
	Title       string            // read from the document if empty
	ContentType string            // detected from the uri and the bytes if empty
	Content     []byte            // text, or a file of a format that parse knows
	Metadata    map[string]any    // copied into every chunk's
	Chunking    chunk.Settings    // the index's if empty
	Extract     *extract.Settings // the index's if nil
	Fingerprint string            // chosen by the caller to recognise this content of the uri
}

// Upload stores a document and starts the job that makes it searchable. If the same bytes
// are stored with the same settings already, it changes nothing and returns the stored
// document and its job. Errors: Invalid naming the field, NotFound for an unknown index,
// Precondition for an index of ready-made vectors.
func (s *Service) Upload(ctx context.Context, u Upload) (Document, job.Job, error) {
	in, err := s.newIntake(ctx)
	if err != nil {
		return Document{}, job.Job{}, err
	}
	d, err := in.accept(ctx, u)
	if err != nil {
		return Document{}, job.Job{}, err
	}
	if d.ByteSize > MaxContentBytes {
		return Document{}, job.Job{}, fault.Field("content", "is %d bytes, over the limit of %d: split it, or upload it in parts", d.ByteSize, MaxContentBytes)
	}
	if in.request.Principal.MandatoryFilter.IsZero() {
		return s.batcher.add(ctx, in.request.Tenant, d)
	}
	stored, err := in.store(ctx, []newDocument{d})
	if err != nil {
		return Document{}, job.Job{}, err
	}
	return stored[0].document, stored[0].job, stored[0].err
}

// intake checks and stores the documents of one request.
type intake struct {
	service *Service
	request *access.Request
	indexes map[string]index.Index // by the requested name
	fence   Fence
}

func (s *Service) newIntake(ctx context.Context) (*intake, error) {
	r, err := access.Require(ctx, access.Write)
	if err != nil {
		return nil, err
	}
	return &intake{service: s, request: r, indexes: map[string]index.Index{}}, nil
}

// accept checks an upload and fills in its defaults.
func (in *intake) accept(ctx context.Context, u Upload) (newDocument, error) {
	if err := u.complete(); err != nil {
		return newDocument{}, err
	}
	if err := in.service.extractor.CheckSettings(ctx, string(in.request.Tenant), u.Extract); err != nil {
		return newDocument{}, err
	}
	into, err := in.index(ctx, *cmp.Or(in.request.Overrides.IndexName, &u.IndexName))
	if err != nil {
		return newDocument{}, err
	}
	d, err := u.document(into, in.service.Reads)
	if err != nil {
		return newDocument{}, err
	}
	d.quotas = in.request.Quotas
	return d, in.request.Principal.CheckWrite("metadata", d.Metadata)
}

func (in *intake) index(ctx context.Context, name string) (index.Index, error) {
	if known, ok := in.indexes[name]; ok {
		return known, nil
	}
	into, err := in.service.indexes.Resolve(ctx, in.request.Tenant, name)
	if err != nil {
		return index.Index{}, err
	}
	if into.EmbeddingModel == "" {
		return index.Index{}, fault.New(fault.Precondition, "index %q has no embedding model: it takes ready-made vectors, not documents; create an index with an embeddingModel for these", into.Name)
	}
	in.indexes[name] = into
	return into, nil
}

// store stores documents of one index, whose names must differ, in one transaction. The
// error of a single document is in its outcome; a returned error means none was stored.
func (in *intake) store(ctx context.Context, docs []newDocument) ([]storedUpload, error) {
	id, into := in.request.Tenant, docs[0].into
	stored, err := in.service.storeFenced(ctx, id, into, docs, in.request.Principal.MandatoryFilter, in.fence)
	if fault.KindOf(err) == fault.Conflict { // the index was deleted or recreated
		in.service.indexes.Forget(id, into.Name)
		clear(in.indexes)
	}
	return stored, err
}

// newDocument is a checked upload with its defaults, ready to be stored.
type newDocument struct {
	Document
	into     index.Index
	chunking chunk.Settings
	extract  *extract.Settings
	content  []byte
	quotas   quota.Limits // of the request's tenant
}

func (u Upload) document(into index.Index, reads Reads) (newDocument, error) {
	d := newDocument{into: into, content: u.Content, chunking: u.Chunking.Or(into.Chunking), extract: cmp.Or(u.Extract, into.Extract)}
	if d.extract != nil && d.extract.IsZero() {
		d.extract = nil
	}
	if err := into.CheckMetadata(withoutFileTime(u.Metadata)); err != nil {
		return d, err
	}
	d.DocumentID = uuid.Must(uuid.NewV7()).String()
	d.JobID = uuid.Must(uuid.NewV7()).String()
	d.Namespace, d.URI, d.Title, d.Metadata, d.Fingerprint = u.Namespace, u.URI, u.Title, u.Metadata, u.Fingerprint
	d.ByteSize = int64(len(u.Content))
	if d.URI == "" {
		d.URI = "document:" + d.DocumentID
	}
	if d.Metadata == nil {
		d.Metadata = map[string]any{}
	}
	var format parse.Format
	var err error
	if format, d.ContentType, err = contentType(u.ContentType, u.URI, u.Content, reads); err != nil {
		return d, err
	}
	asSent := isCutAsSent(d.chunking, format, u.Content, d.ContentType)
	if asSent {
		if len(u.Content) > parse.MaxText {
			return d, errTooMuchText
		}
		if err := checkUTF8(format, u.Content, d.ContentType); err != nil {
			return d, err
		}
	}
	// The title of other formats is found when a worker reads the file.
	if d.Title == "" && (asSent || format == parse.HTML) {
		d.Title = parse.TitleOf(d.ContentType, string(u.Content[:min(len(u.Content), titleBytes)]))
	}
	if _, err := d.chunking.RetrievalOptions(textType(d.chunking, format, d.ContentType), d.URI); err != nil {
		return d, fault.Under("chunking", err)
	}
	sum := sha256.Sum256(d.content)
	d.ContentSHA256 = sum[:]
	d.ContentHash, err = d.hash()
	return d, err
}

// isCutAsSent reports whether the text to be split is at least as long as the content.
func isCutAsSent(chunking chunk.Settings, format parse.Format, content []byte, mediaType string) bool {
	return format.IsText() && (keepsSource(chunking, format) || !parse.IsEncoded(format, parse.Source{Content: content, ContentType: mediaType}))
}

// errTooMuchText is the error that the job would fail with after reading the document.
var errTooMuchText = fault.Field("content", "is over the limit of %d bytes for text: split it, at headings or records", parse.MaxText)

// hash returns the hash of everything that determines the chunks. The embedding model is
// left out: when it changes, all documents of the index are embedded again anyway.
func (d newDocument) hash() (string, error) {
	decisive := []any{d.Title, d.ContentType, withoutFileTime(d.Metadata), d.chunking}
	if d.extract != nil {
		decisive = append(decisive, d.extract)
	}
	settings, err := json.Marshal(decisive)
	if err != nil {
		return "", fmt.Errorf("hash the settings of a document: %w", err)
	}
	h := sha256.New()
	h.Write(settings)
	h.Write([]byte{0})
	h.Write(d.ContentSHA256)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// complete checks an upload and fills in its namespace. Errors: Invalid naming the field.
func (u *Upload) complete() (err error) {
	if u.Namespace, err = index.Namespace(u.Namespace); err != nil {
		return err
	}
	if err := textlimit.Check("uri", u.URI, maxURIBytes); err != nil {
		return err
	}
	if err := textlimit.Check("title", u.Title, maxTitleBytes); err != nil {
		return err
	}
	if err := textlimit.Check("fingerprint", u.Fingerprint, maxFingerprintBytes); err != nil {
		return err
	}
	if len(bytes.TrimSpace(u.Content)) == 0 {
		return fault.Field("text", "is empty: there is nothing to search in it")
	}
	if _, err = metadata.Marshal("metadata", u.Metadata); err != nil { // bounds its depth
		return err
	}
	u.Metadata, err = filter.WithDates("metadata", u.Metadata)
	return err
}

// checkUTF8 rejects content that is cut as sent and is not text that can be stored.
func checkUTF8(format parse.Format, content []byte, mediaType string) error {
	if at := bytes.IndexByte(content, 0); at >= 0 {
		return fault.Field("content", "has a null character at offset %d: it is not text", at)
	}
	if !utf8.Valid(content) {
		if !parse.IsEncoded(format, parse.Source{Content: content, ContentType: mediaType}) {
			return parse.NotUTF8(content)
		}
		return fault.Field("content", "is not UTF-8 (first bad byte at offset %d), which this strategy of chunking needs: convert it, for example with `iconv -f WINDOWS-1252 -t UTF-8`", firstInvalidByte(content))
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
