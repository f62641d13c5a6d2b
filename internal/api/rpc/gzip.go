package rpc

import (
	"fmt"
	"io"

	"connectrpc.com/connect"
	"github.com/klauspost/compress/gzip"
)

// boundedGzip decompresses at most max bytes of a message. The library would inflate an
// oversized message whole in order to report its size.
type boundedGzip struct {
	gzip.Reader
	max, left int64
}

// withGzip returns the option for gzip with messages of at most max bytes.
func withGzip(max int64) connect.HandlerOption {
	return connect.WithCompression("gzip", func() connect.Decompressor { return &boundedGzip{max: max} }, newGzip)
}

// Read implements io.Reader. Errors: *connect.Error for a message that is too large.
func (z *boundedGzip) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p[:min(int64(len(p)), z.left+1)])
	if z.left -= int64(n); z.left < 0 {
		return 0, connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("the message is over the limit of %d bytes", z.max))
	}
	return n, err
}

// Reset implements connect.Decompressor.
func (z *boundedGzip) Reset(from io.Reader) error {
	z.left = z.max
	return z.Reader.Reset(from)
}

// gzipLevel takes 0.08 ms for 12 kB of Markdown, where the highest levels take 0.12 ms and more for 4 % less.
const gzipLevel = 3

func newGzip() connect.Compressor {
	w, err := gzip.NewWriterLevel(io.Discard, gzipLevel)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}
