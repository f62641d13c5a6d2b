package textlimit

import "bytes"

// Head keeps the first bytes of what is written to it. Not safe for concurrent use.
type Head struct {
	bytes.Buffer

	Most int // bytes that are kept
}

// Write implements io.Writer. It never fails.
func (h *Head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), max(0, h.Most-h.Len()))])
	return len(p), nil
}
