package ingest

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/edsrzf/mmap-go"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
)

// maxSpooledBytes is how much disk the large documents that are being uploaded may use. One
// tenant may use half of it, so that its stalled streams do not block other tenants.
const maxSpooledBytes = 4 << 30

func newSpooled() *limit.Limiter[tenant.ID] {
	return limit.New[tenant.ID](maxSpooledBytes, maxSpooledBytes/2)
}

// spool holds the content of a large document, or the embeddings of its chunks, in a
// file without a name, which the system deletes when the process ends; on Windows, where an open file
// keeps its name, it is deleted by close. The file is mapped for reading: its pages belong to the page cache, not to the memory of the process.
type spool struct {
	file   *os.File
	size   int64
	bytes  *limit.Limiter[tenant.ID]
	tenant tenant.ID
	mapped mmap.MMap
}

func newSpool(bytes *limit.Limiter[tenant.ID], id tenant.ID) (*spool, error) {
	file, err := os.CreateTemp("", "ragd-document-*")
	if err != nil {
		return nil, spoolFault(err)
	}
	if err := os.Remove(file.Name()); err != nil && runtime.GOOS != "windows" {
		_ = file.Close()
		return nil, spoolFault(err)
	}
	return &spool{file: file, bytes: bytes, tenant: id}, nil
}

func spoolFault(err error) error {
	return fault.Wrap(fault.Unavailable, err, "the service has no room on its disk for this document now")
}

// write appends to the content.
func (s *spool) write(content []byte) error {
	n := int64(len(content))
	if !s.bytes.TryAcquire(s.tenant, n) {
		return fault.Retry(10*time.Second, "too many large documents are arriving: send it again later")
	}
	s.size += n
	if _, err := s.file.Write(content); err != nil {
		return spoolFault(err)
	}
	return nil
}

// readAt fills content with the bytes from position at on.
func (s *spool) readAt(content []byte, at int64) error {
	if _, err := s.file.ReadAt(content, at); err != nil {
		return fmt.Errorf("read a spool: %w", err)
	}
	return nil
}

// content returns everything that was written. It is valid until close.
func (s *spool) content() ([]byte, error) {
	var err error
	s.mapped, err = mmap.Map(s.file, mmap.RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("read a spooled document: %w", err)
	}
	return s.mapped, nil
}

// close deletes the file and releases its disk capacity. It does nothing on a nil spool.
func (s *spool) close() {
	if s == nil {
		return
	}
	if s.mapped != nil {
		_ = s.mapped.Unmap()
	}
	_ = s.file.Close()
	if runtime.GOOS == "windows" {
		_ = os.Remove(s.file.Name())
	}
	if s.size > 0 {
		s.bytes.Release(s.tenant, s.size)
	}
}

// Spool holds the content of a file that is arriving, on disk, and is counted with the large documents
// that are. It must be closed. Not safe for concurrent use.
type Spool struct{ spool *spool }

// Spool returns an empty Spool of a tenant. Errors: Unavailable.
func (s *Service) Spool(id tenant.ID) (*Spool, error) {
	held, err := newSpool(s.spooled, id)
	return &Spool{held}, err
}

// Write implements io.Writer. Errors: Exhausted if too much is arriving; Unavailable if the disk is full.
func (s *Spool) Write(content []byte) (int, error) {
	if err := s.spool.write(content); err != nil {
		return 0, err
	}
	return len(content), nil
}

// Size returns the number of bytes that were written.
func (s *Spool) Size() int64 { return s.spool.size }

// Content returns a reader of everything that was written. It is valid until Close.
func (s *Spool) Content() io.Reader { return io.NewSectionReader(s.spool.file, 0, s.spool.size) }

// Close deletes the content. It does nothing on a nil Spool and the second time.
func (s *Spool) Close() {
	if s != nil {
		s.spool.close()
		s.spool = nil
	}
}
