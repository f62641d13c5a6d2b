package rpc

import (
	"compress/gzip"
	"io"

	"connectrpc.com/connect"
)

// boundedGzip decompresses at most 1 KiB more than max bytes of a message. The library
// would inflate an oversized message whole in order to report its size.
type boundedGzip struct {
	gzip.Reader
	max, left int64
}

// withGzip returns the option for gzip with messages of at most max bytes.
func withGzip(max int64) connect.HandlerOption {
	return connect.WithCompression("gzip", func() connect.Decompressor { return &boundedGzip{max: max} }, newGzip)
}

// Read implements io.Reader.
func (z *boundedGzip) Read(p []byte) (int, error) {
	if z.left <= 0 {
		return 0, io.EOF
	}
	n, err := z.Reader.Read(p[:min(int64(len(p)), z.left)])
	z.left -= int64(n)
	return n, err
}

// Reset implements connect.Decompressor.
func (z *boundedGzip) Reset(from io.Reader) error {
	z.left = z.max + 1<<10
	return z.Reader.Reset(from)
}

func newGzip() connect.Compressor { return gzip.NewWriter(io.Discard) }
