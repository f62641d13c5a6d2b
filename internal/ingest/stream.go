package ingest

import (
	"context"
	"errors"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Limits of a stream of uploads. Sizes are bytes.
const (
	// MaxDocumentBytes is the largest document that a stream accepts.
	MaxDocumentBytes = 256 << 20
	// MaxStreamDocuments is how many documents one stream may have.
	MaxStreamDocuments = 10_000

	// spoolAbove is the size above which an arriving document is kept on disk.
	spoolAbove = 1 << 20
	// headBytes is how much of a large document is examined to decide whether it is text.
	headBytes = 64 << 10
)

// Result is the outcome for one document of a stream.
type Result struct {
	URI       string
	Document  Document
	Job       job.Job
	Unchanged bool  // the same content was stored before
	Err       error // why it was not stored; if set, all other fields but URI are empty
}

// Stream stores documents that arrive one after the other, each in one or more pieces. It
// uses bounded memory: small documents are stored in groups, and a large one is on disk
// until it is complete. Not safe for concurrent use.
type Stream struct {
	intake  *intake
	results []Result
	current *arriving
	group   []*arriving // complete and valid, of one index, with different names
	bytes   int64       // of the group
}

// arriving is a document of a stream that is not stored yet.
type arriving struct {
	newDocument
	upload Upload
	result int
	spool  *spool // nil while the content is in memory
	failed bool
}

// Stream begins a stream of uploads, which the caller must close.
func (s *Service) Stream(ctx context.Context) (*Stream, error) {
	in, err := s.newIntake(ctx)
	if err != nil {
		return nil, err
	}
	return &Stream{intake: in}, nil
}

// Fence checks, in a transaction that stores or deletes documents, that the caller may still do so. Its error ends the
// transaction.
type Fence func(ctx context.Context, tx *data.Tx) error

// check calls the fence, if there is one.
func (f Fence) check(ctx context.Context, tx *data.Tx) error {
	if f == nil {
		return nil
	}
	return f(ctx, tx)
}

// Within sets the fence of all documents that the stream stores.
func (s *Stream) Within(fence Fence) { s.intake.fence = fence }

// Begin starts a document with its first piece, which may be all of it. It returns errors
// of the stream only; an error of a document is in its Result.
func (s *Stream) Begin(ctx context.Context, u Upload) error {
	if err := s.complete(ctx); err != nil {
		return err
	}
	if len(s.results) == MaxStreamDocuments {
		return fault.Field("document", "is one more than the %d that a stream may have: begin another", MaxStreamDocuments)
	}
	s.current = &arriving{upload: u, result: len(s.results)}
	s.results = append(s.results, Result{URI: u.URI})
	return nil
}

// Fail starts a document whose content is ignored and whose Result has err.
func (s *Stream) Fail(ctx context.Context, uri string, err error) error {
	if err := s.Begin(ctx, Upload{URI: uri}); err != nil {
		return err
	}
	s.refuse(s.current, err)
	return nil
}

// Append adds content to the document that the last call of Begin started.
func (s *Stream) Append(content []byte) error {
	a := s.current
	if a == nil {
		return fault.Field("content", "comes before the message that begins its document")
	}
	if a.failed {
		return nil
	}
	if err := a.append(content, s.intake); err != nil {
		s.refuse(a, err)
	}
	return nil
}

func (a *arriving) append(content []byte, in *intake) (err error) {
	size := len(a.upload.Content) + len(content)
	if a.spool != nil {
		size = int(a.spool.size) + len(content)
	}
	switch {
	case a.spool != nil && a.spool.size <= parse.MaxText && size > parse.MaxText && a.looksLikeText():
		return errTooMuchText
	case size > MaxDocumentBytes:
		return fault.Field("content", "is over the limit of %d bytes: split it", MaxDocumentBytes)
	case a.spool == nil && size <= spoolAbove:
		a.upload.Content = append(a.upload.Content, content...)
		return nil
	case a.spool == nil:
		if a.spool, err = newSpool(in.service.spooled, in.request.Tenant); err != nil {
			return err
		}
		if err := a.spool.write(a.upload.Content); err != nil {
			return err
		}
		a.upload.Content = nil
	}
	return a.spool.write(content)
}

// looksLikeText reports whether the beginning of a large document is text.
func (a *arriving) looksLikeText() bool {
	head := make([]byte, min(a.spool.size, headBytes))
	if err := a.spool.readAt(head, 0); err != nil {
		return false
	}
	format, err := parse.Detect(parse.Source{Content: head, ContentType: a.upload.ContentType, FileName: a.upload.URI})
	return err == nil && isCutAsSent(a.upload.Chunking, format, head, a.upload.ContentType)
}

// refuse stores err in the document's Result and drops its content.
func (s *Stream) refuse(a *arriving, err error) {
	s.results[a.result].Err = err
	a.drop()
}

// drop frees the content.
func (a *arriving) drop() {
	a.spool.close()
	*a = arriving{result: a.result, failed: true}
}

// complete adds the arriving document to the group, and stores the group when it is full.
// Errors: those of access.Recheck.
func (s *Stream) complete(ctx context.Context) error {
	a := s.current
	s.current = nil
	if a == nil || a.failed {
		return nil
	}
	if err := access.Recheck(ctx); err != nil {
		a.drop()
		return err
	}
	if err := s.check(ctx, a); err != nil {
		s.refuse(a, err)
		return ctx.Err()
	}
	if !s.fits(a) {
		if err := s.flush(ctx); err != nil {
			a.drop()
			return err
		}
	}
	s.group = append(s.group, a)
	s.bytes += a.ByteSize
	if len(s.group) >= writeDocuments || s.bytes >= writeBytes {
		return s.flush(ctx)
	}
	return nil
}

func (s *Stream) check(ctx context.Context, a *arriving) (err error) {
	if a.spool != nil {
		if a.upload.Content, err = a.spool.content(); err != nil {
			return err
		}
	}
	a.newDocument, err = s.intake.accept(ctx, a.upload)
	return err
}

// fits reports whether a document can be stored by the same statements as the group.
func (s *Stream) fits(a *arriving) bool {
	for _, other := range s.group {
		if other.into.ID != a.into.ID || other.name() == a.name() {
			return false
		}
	}
	return true
}

// flush stores the group. If that fails with a permanent error, it stores each document
// alone, so that one bad document does not fail the others. It stores nothing after the
// credential has become invalid.
func (s *Stream) flush(ctx context.Context) error {
	group := s.group
	s.group, s.bytes = nil, 0
	defer func() {
		for _, a := range group {
			a.drop()
		}
	}()
	err := access.Recheck(ctx)
	if err != nil {
		return err
	}
	err = s.store(ctx, group)
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	if transient(err) {
		for _, a := range group {
			s.results[a.result].Err = err
		}
		return nil
	}
	for i, a := range group {
		if err := s.store(ctx, group[i:i+1]); err != nil {
			s.results[a.result].Err = err
		}
	}
	return ctx.Err()
}

func (s *Stream) store(ctx context.Context, group []*arriving) error {
	if len(group) == 0 {
		return nil
	}
	docs := make([]newDocument, len(group))
	for i, a := range group {
		docs[i] = a.newDocument
	}
	stored, err := s.intake.store(ctx, docs)
	if err != nil {
		return err
	}
	for i, a := range group {
		d := stored[i]
		s.results[a.result] = Result{URI: docs[i].URI, Document: d.document, Job: d.job, Unchanged: d.unchanged, Err: d.err}
	}
	return nil
}

// End stores the remaining documents and returns one result for each document, in order.
func (s *Stream) End(ctx context.Context) ([]Result, error) {
	if err := s.complete(ctx); err != nil {
		return nil, err
	}
	if err := s.flush(ctx); err != nil {
		return nil, err
	}
	return s.results, nil
}

// Close frees the content of documents that have not been stored.
func (s *Stream) Close() {
	if s.current != nil {
		s.current.drop()
	}
	for _, a := range s.group {
		a.drop()
	}
}
