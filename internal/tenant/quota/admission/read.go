package admission

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Read reads a message of length bytes from body, or up to its end if length is negative,
// and takes memory for it. Errors: Exhausted, with ErrTooLarge for a message over
// MaxMessageBytes; an error that wraps os.ErrDeadlineExceeded if it does not arrive in
// MaxArrival; io.ErrUnexpectedEOF; those of body.
func (r *Request) Read(ctx context.Context, body io.Reader, length int64) ([]byte, error) {
	most := r.gate.config.MaxMessageBytes
	in := &arrival{Reader: body, began: time.Now(), most: r.gate.config.MaxArrival}
	switch {
	case length > most:
		return nil, r.tooLarge()
	case length < 0:
		return r.readAll(ctx, in)
	case length > smallBytes:
		if err := r.reserve(ctx, length); err != nil {
			return nil, err
		}
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(in, data); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return data, nil
}

// readAll reads a message whose length is not known. Once it turns out not to be small it
// takes the memory of the largest, until it has arrived.
func (r *Request) readAll(ctx context.Context, in *arrival) ([]byte, error) {
	most := r.gate.config.MaxMessageBytes
	var data bytes.Buffer
	if _, err := io.CopyN(&data, in, smallBytes+1); err == io.EOF { //nolint:errorlint // CopyN returns it as it is
		return data.Bytes(), nil
	} else if err != nil {
		return nil, err
	}
	if err := r.reserve(ctx, most); err != nil {
		return nil, err
	}
	if _, err := data.ReadFrom(io.LimitReader(in, most+1-int64(data.Len()))); err != nil {
		return nil, err
	}
	if int64(data.Len()) > most {
		return nil, r.tooLarge()
	}
	spare := most - int64(data.Len())
	r.gate.arriving.Release(r.of, spare)
	r.arriving -= spare
	return data.Bytes(), nil
}

// reserve takes memory for bytes that arrive.
func (r *Request) reserve(ctx context.Context, bytes int64) error {
	if err := take(ctx, r.gate.arriving, r.of, bytes); err != nil {
		return err
	}
	r.arriving += bytes
	return nil
}

func (r *Request) tooLarge() error {
	most := r.gate.config.MaxMessageBytes
	return fault.Wrap(fault.Exhausted, ErrTooLarge, "the message is over the limit of %d bytes (%d MiB): divide it; many documents go one by one in a stream, as `ragd ingest` and the method UploadDocuments send them", most, most>>20)
}

// Drain reads the rest of the body of a rejected request, because many clients read the
// answer only after they have sent everything. It stops after twice MaxMessageBytes, and
// after 20 seconds, so that slow senders do not keep their connections.
func (r *Request) Drain(body io.Reader) {
	const most = 20 * time.Second
	in := &arrival{Reader: body, began: time.Now(), most: min(most, r.gate.config.MaxArrival)}
	_, _ = io.CopyN(io.Discard, in, 2*r.gate.config.MaxMessageBytes)
}

// arrival is a body whose reads fail once it takes too long.
type arrival struct {
	io.Reader
	began time.Time
	most  time.Duration
}

// Read implements io.Reader.
func (a *arrival) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if err == nil && time.Since(a.began) > a.most {
		err = fmt.Errorf("the message did not arrive within %v: %w", a.most, os.ErrDeadlineExceeded)
	}
	return n, err
}
