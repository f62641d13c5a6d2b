package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/metadata"
)

// Bounds of a batch: the documents of one stream. The service writes the documents of a
// stream in groups, several times as fast as one by one.
const (
	batchDocuments = 1000
	batchBytes     = 8 << 20
	batchPause     = 20 * time.Millisecond // a batch ends when no document arrives for this time
	messageBytes   = 1 << 20               // of content in one message
	// maxHeader bounds a document's metadata and settings; no index accepts more.
	maxHeader = 1 << 20
)

// item is a document of a batch.
type item struct {
	document
	header  *ragdv1.UploadDocumentRequest // without its content
	content []byte
	input   int64 // bytes of the corpus that the progress does not count yet
}

// batch waits for a document and collects those that follow without a pause. more is
// false when the corpus has ended.
func (r *run) batch(ctx context.Context, documents <-chan localfiles.Document) (items []*item, more bool, err error) {
	var pause <-chan time.Time
	for size := 0; len(items) < batchDocuments && size < batchBytes; {
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-pause:
			return items, true, nil
		case doc, ok := <-documents:
			if !ok {
				return items, false, ctx.Err()
			}
			if it, err := r.item(doc); err != nil {
				r.step(func() {
					r.progress.InputBytes += doc.InputBytes
					r.fail(doc.Location, doc.URI, message(err))
				})
			} else {
				items, size = append(items, it), size+len(it.content)
				if doc.Warning != "" {
					r.step(func() { r.result.Warnings = append(r.result.Warnings, Warning{doc.Location, doc.Warning}) })
				}
			}
			pause = time.After(batchPause)
		}
	}
	return items, true, nil
}

// item returns the message and content for a document.
func (r *run) item(doc localfiles.Document) (*item, error) {
	it := &item{document: document{doc.Location, doc.URI}, content: doc.Content, input: doc.InputBytes}
	if doc.Content == nil {
		it.content = []byte(doc.Text)
	}
	it.header = &ragdv1.UploadDocumentRequest{
		IndexName: r.cfg.Index, Namespace: r.cfg.Namespace, Uri: doc.URI, Title: doc.Title, ContentType: doc.ContentType, Chunking: r.cfg.Chunking,
		Extract: r.cfg.Extract,
	}
	if len(r.cfg.Metadata)+len(doc.Metadata) > 0 {
		metadata := map[string]any{}
		maps.Copy(metadata, r.cfg.Metadata)
		maps.Copy(metadata, doc.Metadata)
		var err error
		if it.header.Metadata, err = structpb.NewStruct(metadata); err != nil {
			return nil, err
		}
	}
	// The service does not read larger messages and answers as if it were busy.
	if size := proto.Size(it.header); size > maxHeader {
		return nil, fmt.Errorf("has %d bytes of metadata, over the limit of %d for one document", size, maxHeader)
	}
	it.header.Fingerprint = fingerprint(it.header, it.content)
	return it, it.setModified(doc.Modified)
}

// setModified adds the time at which the file was changed to the metadata, unless the caller has given something
// of that name. It is no part of the fingerprint: a file that was only touched or copied is unchanged.
func (i *item) setModified(at time.Time) error {
	if at.Year() <= 1980 { // not known: a zip file without times says 1980
		return nil
	}
	var err error
	i.header.Metadata, err = structpb.NewStruct(metadata.WithModified(i.header.GetMetadata().AsMap(), at))
	return err
}

// send sends a batch and returns one result for each document, in order. It calls
// counted with the bytes of the corpus that were sent since the last call.
func (c Client) send(ctx context.Context, items []*item, counted func(int64)) ([]*ragdv1.UploadResult, error) {
	if c.batch != nil {
		return c.batch(ctx, items)
	}
	stream, err := c.Documents.UploadDocuments(ctx)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		if err := it.send(stream, counted); err != nil {
			if errors.Is(err, io.EOF) { // the answer says why
				break
			}
			return nil, err
		}
	}
	res, err := stream.CloseAndReceive()
	if err != nil {
		return nil, err
	}
	if got := len(res.GetResults()); got != len(items) {
		return nil, connect.NewError(connect.CodeUnavailable, fmt.Errorf("the answer is about %d of %d documents", got, len(items)))
	}
	return res.GetResults(), nil
}

// sender is a stream to the service.
type sender interface {
	Send(*ragdv1.UploadDocumentsRequest) error
}

// send sends a document and, if it is large, its content in further messages. It calls
// counted after each message with the bytes of the corpus that it accounts for.
func (i *item) send(stream sender, counted func(int64)) error {
	content := i.content
	if len(content) <= messageBytes {
		i.header.Source = &ragdv1.UploadDocumentRequest_Content{Content: content}
		content = nil
	}
	err := stream.Send(&ragdv1.UploadDocumentsRequest{Part: &ragdv1.UploadDocumentsRequest_Document{Document: i.header}})
	i.header.Source = nil
	if err != nil {
		return err
	}
	for len(content) > 0 {
		n := min(len(content), messageBytes)
		if err := stream.Send(&ragdv1.UploadDocumentsRequest{Part: &ragdv1.UploadDocumentsRequest_Content{Content: content[:n]}}); err != nil {
			return err
		}
		content = content[n:]
		i.count(counted, int64(n))
	}
	i.count(counted, i.input)
	return nil
}

// count calls counted with n bytes of the corpus, at most those not counted yet.
func (i *item) count(counted func(int64), n int64) {
	n = min(n, i.input)
	i.input -= n
	counted(n)
}

// size returns the bytes of content in a batch.
func size(items []*item) (bytes int) {
	for _, it := range items {
		bytes += len(it.content)
	}
	return bytes
}
