package openai

import (
	"context"
	"errors"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// Limits of files.
const (
	maxFiles         = 100_000
	maxFileBytes     = ingest.MaxDocumentBytes
	maxFileNameBytes = 512
	maxFieldBytes    = 4 << 10  // of a field of the form besides the file
	maxPartHeadBytes = 64 << 10 // of what precedes the content of a field
	maxFields        = 20
	// The lifetime that an uploader may set.
	minFileLife, maxFileLife = time.Hour, 30 * 24 * time.Hour
)

// purposes are what files may be for. Only that they can be put into vector stores is done with them.
var purposes = []string{"assistants", "user_data"}

// fileObject is a file as callers see it.
type fileObject struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	Bytes     int64  `json:"bytes"`
	CreatedAt int64  `json:"created_at"`
	ExpiresAt *int64 `json:"expires_at,omitempty"`
	Filename  string `json:"filename"`
	Purpose   string `json:"purpose"`
	Status    string `json:"status"`
}

func (f file) object() *fileObject {
	o := &fileObject{ID: f.FileID, Object: "file", Bytes: f.ByteSize, CreatedAt: f.CreatedAt.Unix(), Filename: f.FileName, Purpose: f.Purpose, Status: "processed"}
	if f.ExpiresAt != nil {
		at := f.ExpiresAt.Unix()
		o.ExpiresAt = &at
	}
	return o
}

// whole returns a handle of the caller's tenant. Files belong to the tenant as a whole. Errors: Denied
// for a credential that sees a part of it only.
func (h *Handler) whole(ctx context.Context, need access.Scope) (*data.Handle, error) {
	caller, err := access.RequireUnfiltered(ctx, need)
	if err != nil {
		return nil, err
	}
	return h.config.DB.Handle(caller.Tenant), nil
}

// createFile implements POST /v1/files. The content is on disk until all of it has arrived.
func (h *Handler) createFile(w http.ResponseWriter, r *http.Request) {
	caller, err := access.RequireUnfiltered(r.Context(), access.Write)
	if err != nil {
		refuse(w, r, err)
		return
	}
	form := &fileForm{spool: func() (*ingest.Spool, error) { return h.config.Documents.Spool(caller.Tenant) }}
	defer form.close()
	if err := form.receiveAll(r); err != nil {
		refuse(w, r, err)
		return
	}
	content, err := form.digest()
	if err != nil {
		fail(w, r, err)
		return
	}
	once(h, w, r, content, func(ctx context.Context) (*fileObject, error) {
		stored, err := form.store(ctx, h.config.DB.Handle(caller.Tenant))
		return stored.object(), err
	})
}

// fileForm is the form of an upload. It must be closed.
type fileForm struct {
	file
	anchor  string
	seconds string
	spool   func() (*ingest.Spool, error)
	content *ingest.Spool // nil until it arrives
}

// receiveAll reads the form of an upload. Errors: Invalid, naming the field; Deadline if it stops to
// arrive; those of ingest.Spool.
func (f *fileForm) receiveAll(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return fault.New(fault.Invalid, "the request must be a form, multipart/form-data, with the fields file and purpose")
	}
	in := &headReader{ReadCloser: r.Body}
	r.Body = in
	parts, err := r.MultipartReader()
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "the form is malformed")
	}
	for n := 0; ; n++ {
		in.left = maxPartHeadBytes
		part, err := parts.NextPart()
		in.left = math.MaxInt64 // the content has limits of its own
		switch {
		case errors.Is(err, io.EOF):
			return f.check()
		case err != nil:
			return formError(err)
		case n == maxFields:
			return fault.New(fault.Invalid, "the form has more than %d fields", maxFields)
		}
		if err := f.receive(part); err != nil {
			return err
		}
	}
}

// headReader is a body of which at most left bytes may be read: the headers of a part are all in memory
// before one of them is seen.
type headReader struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader. Errors: Invalid.
func (h *headReader) Read(p []byte) (int, error) {
	if h.left <= 0 {
		return 0, fault.New(fault.Invalid, "the form has over %d bytes before the content of a field", maxPartHeadBytes)
	}
	n, err := h.ReadCloser.Read(p[:min(int64(len(p)), h.left)])
	h.left -= int64(n)
	return n, err
}

// formError returns the error for a form that could not be read.
func formError(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return late(err)
	case fault.KindOf(err) != fault.Internal:
		return err
	}
	return fault.Wrap(fault.Invalid, err, "the form is malformed, or the request ended before it was complete")
}

// receive reads one field of the form.
func (f *fileForm) receive(part *multipart.Part) error {
	if part.FormName() == "file" {
		return f.receiveContent(part)
	}
	value, err := io.ReadAll(io.LimitReader(part, maxFieldBytes+1))
	switch {
	case err != nil:
		return formError(err)
	case len(value) > maxFieldBytes:
		return fault.Field(shorten(part.FormName()), "is over the limit of %d bytes", maxFieldBytes)
	}
	switch text := string(value); part.FormName() {
	case "purpose":
		f.Purpose = text
	case "expires_after[anchor]":
		f.anchor = text
	case "expires_after[seconds]":
		f.seconds = text
	default:
		return fault.Field(shorten(part.FormName()), "is not a field that is known here; known are file, purpose and expires_after")
	}
	return nil
}

func (f *fileForm) receiveContent(part *multipart.Part) (err error) {
	if f.content != nil {
		return fault.Field("file", "is given twice: upload one file in each request")
	}
	if f.FileName = part.FileName(); f.FileName == "" {
		return fault.Field("file", "must be a file with a name")
	}
	if err := textlimit.Check("file", f.FileName, maxFileNameBytes); err != nil {
		return err
	}
	if f.content, err = f.spool(); err != nil {
		return err
	}
	f.ByteSize, err = io.Copy(f.content, io.LimitReader(part, maxFileBytes+1))
	switch {
	case err != nil:
		return formError(err)
	case f.ByteSize > maxFileBytes:
		return tooLarge(fault.Field("file", "is over the limit of %d bytes: split it", maxFileBytes))
	}
	return nil
}

// check completes the form once all of it has arrived.
func (f *fileForm) check() error {
	switch {
	case f.content == nil:
		return fault.Field("file", "is missing")
	case f.ByteSize == 0:
		return fault.Field("file", "is empty")
	case f.Purpose == "":
		return fault.Field("purpose", "is missing; known are %s", strings.Join(purposes, ", "))
	case f.Purpose != purposes[0] && f.Purpose != purposes[1]:
		return fault.Field("purpose", "%q is unknown; known are %s", shorten(f.Purpose), strings.Join(purposes, ", "))
	case f.anchor == "" && f.seconds == "":
		return nil
	case f.anchor != "created_at":
		return fault.Field("expires_after[anchor]", "must be created_at, got %q", shorten(f.anchor))
	}
	seconds, err := strconv.Atoi(f.seconds)
	life := time.Duration(seconds) * time.Second
	if err != nil || seconds > int(maxFileLife/time.Second) || life < minFileLife {
		return fault.Field("expires_after[seconds]", "must be %d to %d, got %q", minFileLife/time.Second, maxFileLife/time.Second, shorten(f.seconds))
	}
	at := time.Now().Add(life)
	f.ExpiresAt = &at
	return nil
}

// store stores the file.
func (f *fileForm) store(ctx context.Context, db *data.Handle) (file, error) {
	if err := access.Recheck(ctx); err != nil {
		return file{}, err
	}
	if err := db.Admit(ctx, f.ByteSize); err != nil {
		return file{}, err
	}
	f.FileID = newID(filePrefix)
	return insertFile(ctx, db, f.file, f.content.Content())
}

func (f *fileForm) close() { f.content.Close() }

// listFiles implements GET /v1/files.
func (h *Handler) listFiles(ctx context.Context, r *http.Request) (*list[*fileObject], error) {
	db, err := h.whole(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	p, err := pageOf(r, 10_000, 10_000, "purpose")
	if err != nil {
		return nil, err
	}
	var after file
	if p.after != "" {
		if after, err = getFile(ctx, db, "after", p.after); err != nil {
			return nil, err
		}
	}
	found, err := listFiles(ctx, db, r.URL.Query().Get("purpose"), after, p.descending, p.limit+1)
	if err != nil {
		return nil, err
	}
	objects := make([]*fileObject, len(found))
	for i, f := range found {
		objects[i] = f.object()
	}
	return pageList(objects, p.limit, func(o *fileObject) string { return o.ID }), nil
}

// getFile implements GET /v1/files/{file}.
func (h *Handler) getFile(ctx context.Context, r *http.Request) (*fileObject, error) {
	db, err := h.whole(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	f, err := getFile(ctx, db, "", r.PathValue("file"))
	return f.object(), err
}

// deleteFile implements DELETE /v1/files/{file}: the file leaves the vector stores, too.
func (h *Handler) deleteFile(ctx context.Context, r *http.Request) (*deleted, error) {
	db, err := h.whole(ctx, access.Write)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("file")
	if _, err := getFile(ctx, db, "", id); err != nil {
		return nil, err
	}
	in, err := indexesOf(ctx, db, id)
	if err != nil {
		return nil, err
	}
	for _, indexName := range in {
		if err := h.detach(ctx, db, indexName, id); err != nil && fault.KindOf(err) != fault.NotFound {
			return nil, err
		}
	}
	return &deleted{ID: id, Object: "file", Deleted: true}, deleteFile(ctx, db, id)
}

// downloadFile implements GET /v1/files/{file}/content.
func (h *Handler) downloadFile(w http.ResponseWriter, r *http.Request) {
	db, err := h.whole(r.Context(), access.Read)
	var f file
	if err == nil {
		f, err = getFile(r.Context(), db, "", r.PathValue("file"))
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	if err := admission.Grow(r.Context(), min(f.ByteSize, segmentBytes)); err != nil {
		fail(w, r, err)
		return
	}
	// A page of any name and type is never shown as one of this service.
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.FileName}))
	w.Header().Set("Content-Length", strconv.FormatInt(f.ByteSize, 10))
	for segment := 0; ; segment++ {
		content, err := readFile(r.Context(), db, f.FileID, segment)
		if err != nil || content == nil && segment == 0 {
			httpserver.Fail(r.Context(), err)
			panic(http.ErrAbortHandler) // the length tells the caller that something is missing
		}
		if content == nil {
			return
		}
		if err := write(w, content); err != nil {
			return // the caller has disconnected, or no longer receives
		}
	}
}
