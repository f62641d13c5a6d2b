package ragd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// Upload is what is said about a document. Zero values mean the defaults of the service.
type Upload struct {
	// URI names the document: an upload with the uri of an earlier one replaces it. Default: the name of the
	// file.
	URI         string
	Title       string
	ContentType string
	Metadata    map[string]any // JSON
	Namespace   string
	Chunking    *ragdv1.Chunking
	// NoWait returns when the document is durable, before it can be found.
	NoWait bool
	// Progress, if it is not nil, is called while the content is sent and while the document is processed.
	Progress func(Progress)
}

// Progress says how far an upload is.
type Progress struct {
	URI   string
	Sent  int64       // bytes
	Bytes int64       // of the document; -1 if its size is not known
	Job   *ragdv1.Job // nil while the content is sent
}

// Uploaded is a document that was uploaded, and the job that makes it searchable.
type Uploaded struct {
	Document *ragdv1.Document
	Job      *ragdv1.Job
}

const (
	// wholeBytes is the size up to which a document is sent as one message, which can be repeated.
	wholeBytes = 8 << 20
	// pieceBytes is the size of a piece of a larger one.
	pieceBytes = 1 << 20
)

// Upload uploads a document and waits until it can be found. Errors: *Error; *JobError when the document
// cannot be read, also those of source.
func (i *Index) Upload(ctx context.Context, source io.Reader, u Upload) (*Uploaded, error) {
	return i.upload(ctx, source, -1, u)
}

// UploadText uploads a text as Upload does.
func (i *Index) UploadText(ctx context.Context, text string, u Upload) (*Uploaded, error) {
	return i.upload(ctx, strings.NewReader(text), int64(len(text)), u)
}

// UploadFile uploads a file as Upload does.
func (i *Index) UploadFile(ctx context.Context, name string, u Upload) (uploaded *Uploaded, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if u.URI == "" {
		u.URI = filepath.Base(name)
	}
	return i.upload(ctx, file, info.Size(), u)
}

// UploadFolder uploads the files of a folder, such as os.DirFS("docs"), under their paths in it after
// u.URI, and yields a result or an error for each. Files and folders whose names begin with a dot are left
// out.
func (i *Index) UploadFolder(ctx context.Context, folder fs.FS, u Upload) iter.Seq2[*Uploaded, error] {
	return func(yield func(*Uploaded, error) bool) {
		stop := errors.New("the caller has enough")
		err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case name != "." && strings.HasPrefix(entry.Name(), ".") && entry.IsDir():
				return fs.SkipDir
			case strings.HasPrefix(entry.Name(), ".") || !entry.Type().IsRegular():
				return nil
			}
			uploaded, err := i.uploadEntry(ctx, folder, name, u)
			if !yield(uploaded, err) {
				return stop
			}
			return ctx.Err()
		})
		if err != nil && !errors.Is(err, stop) {
			yield(nil, err)
		}
	}
}

func (i *Index) uploadEntry(ctx context.Context, folder fs.FS, name string, u Upload) (uploaded *Uploaded, err error) {
	file, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	u.URI = path.Join(u.URI, name)
	return i.upload(ctx, file, info.Size(), u)
}

func (i *Index) upload(ctx context.Context, source io.Reader, size int64, u Upload) (*Uploaded, error) {
	metadata, err := structpb.NewStruct(u.Metadata)
	if err != nil {
		return nil, invalid("Metadata", "cannot be written as JSON: "+err.Error())
	}
	req := &ragdv1.UploadDocumentRequest{
		IndexName: i.Name, Uri: u.URI, Title: u.Title, ContentType: u.ContentType, Metadata: metadata, Namespace: u.Namespace, Chunking: u.Chunking,
	}
	report := func(sent int64, job *ragdv1.Job) {
		if u.Progress != nil {
			u.Progress(Progress{URI: u.URI, Sent: sent, Bytes: size, Job: job})
		}
	}
	head, err := io.ReadAll(io.LimitReader(source, wholeBytes+1))
	if err != nil {
		return nil, err
	}
	report(0, nil)
	uploaded, sent := &Uploaded{}, int64(len(head))
	if len(head) <= wholeBytes {
		req.Source = &ragdv1.UploadDocumentRequest_Content{Content: head}
		answer, err := i.client.Documents.UploadDocument(ctx, req)
		if err != nil {
			return nil, err
		}
		uploaded.Document, uploaded.Job = answer.GetDocument(), answer.GetJob()
	} else if sent, err = i.send(ctx, req, io.MultiReader(bytes.NewReader(head), source), func(sent int64) { report(sent, nil) }, uploaded); err != nil {
		return nil, err
	}
	report(sent, uploaded.Job)
	if u.NoWait {
		return uploaded, nil
	}
	if uploaded.Job, err = i.client.Wait(ctx, uploaded.Job.GetJobId(), func(job *ragdv1.Job) { report(sent, job) }); err != nil {
		return uploaded, err
	}
	uploaded.Document, err = i.client.Documents.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: i.Name, DocumentId: uploaded.Document.GetDocumentId()})
	return uploaded, err
}

// send sends a document in pieces and returns its size.
func (i *Index) send(ctx context.Context, req *ragdv1.UploadDocumentRequest, source io.Reader, progress func(int64), uploaded *Uploaded) (sent int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := i.client.Documents.UploadDocuments(ctx)
	if err != nil {
		return 0, err
	}
	err = stream.Send(&ragdv1.UploadDocumentsRequest{Part: &ragdv1.UploadDocumentsRequest_Document{Document: req}})
	for err == nil {
		piece := make([]byte, pieceBytes)
		n, ended := io.ReadFull(source, piece)
		if n > 0 {
			err = stream.Send(&ragdv1.UploadDocumentsRequest{Part: &ragdv1.UploadDocumentsRequest_Content{Content: piece[:n]}})
			sent += int64(n)
			progress(sent)
		}
		if errors.Is(ended, io.EOF) || errors.Is(ended, io.ErrUnexpectedEOF) {
			break
		}
		if ended != nil {
			return sent, ended
		}
	}
	if err != nil && !errors.Is(err, io.EOF) { // of which CloseAndReceive has the reason
		return sent, ErrorOf(err)
	}
	answer, err := stream.CloseAndReceive()
	if err != nil {
		return sent, ErrorOf(err)
	}
	if len(answer.GetResults()) != 1 {
		return sent, &Error{Code: connect.CodeInternal, Message: "the service did not answer for the document"}
	}
	result := answer.GetResults()[0]
	if refused := result.GetError(); refused != nil {
		return sent, refusal(refused)
	}
	uploaded.Job = result.GetJob()
	uploaded.Document, err = i.client.Documents.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: i.Name, DocumentId: result.GetDocumentId()})
	return sent, err
}

// refusal is the error with which a stream refused a document.
func refusal(e *ragdv1.UploadError) *Error {
	refused := &Error{Message: e.GetMessage(), RetryAfter: time.Duration(e.GetRetryDelaySeconds() * float64(time.Second))}
	if err := refused.Code.UnmarshalText([]byte(e.GetCode())); err != nil {
		refused.Code = connect.CodeUnknown
	}
	if e.GetField() != "" {
		refused.Violations = []Violation{{e.GetField(), e.GetMessage()}}
	}
	return refused
}
