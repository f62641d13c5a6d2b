package rpc

import (
	"compress/gzip"
	"io"

	"connectrpc.com/connect"
)

// boundedGzip decompresses at most 64 KiB more than MaxMessageBytes. The library would
// inflate an oversized message whole in order to report its size.
type boundedGzip struct {
	gzip.Reader
	left int64
}

func newBoundedGzip() connect.Decompressor { return &boundedGzip{} }

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
	z.left = MaxMessageBytes + 64<<10
	return z.Reader.Reset(from)
}

func newGzip() connect.Compressor { return gzip.NewWriter(io.Discard) }
