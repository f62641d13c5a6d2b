package admission

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// A message of more than freeRatioBytes may be at most maxRatio times as large as its
// compressed form. Repetitive logs reach 170, and a message that inflates to zeros 1,030.
const (
	freeRatioBytes = 1 << 20
	maxRatio       = 300
)

// Inflate decompresses a message from gzip and takes memory for it. Errors: Invalid for
// malformed data; Exhausted, with ErrTooLarge for a message over MaxMessageBytes or
// maxRatio.
func (r *Request) Inflate(ctx context.Context, data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, malformed(err)
	}
	var out bytes.Buffer
	if _, err := io.CopyN(&out, z, smallBytes); err == io.EOF { //nolint:errorlint // CopyN returns it as it is
		return out.Bytes(), nil
	} else if err != nil {
		return nil, malformed(err)
	}
	// The size is counted before memory is taken: what the data says of it may be wrong.
	size, err := r.inflatedSize(z, int64(len(data)), smallBytes)
	if err != nil {
		return nil, err
	}
	if err := r.reserve(ctx, size); err != nil {
		return nil, err
	}
	if err := z.Reset(bytes.NewReader(data)); err != nil {
		return nil, malformed(err)
	}
	message := make([]byte, size)
	if _, err := io.ReadFull(z, message); err != nil {
		return nil, malformed(err)
	}
	return message, nil
}

// inflatedSize reads z to its end and returns the size of the message, of which read bytes
// were read before.
func (r *Request) inflatedSize(z *gzip.Reader, compressed, read int64) (int64, error) {
	most := min(r.gate.config.MaxMessageBytes, max(freeRatioBytes, maxRatio*compressed))
	n, err := io.CopyN(io.Discard, z, most+1-read)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, malformed(err)
	}
	size := read + n
	switch {
	case size <= most:
		return size, nil
	case most < r.gate.config.MaxMessageBytes:
		return 0, fault.Wrap(fault.Exhausted, ErrTooLarge,
			"the message is more than %d times as large as its compressed form: send it without compression", maxRatio)
	}
	return 0, r.tooLarge()
}

func malformed(err error) error {
	return fault.Wrap(fault.Invalid, fmt.Errorf("inflate: %w", err), "the message is not valid gzip")
}
