package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/idempotency"
)

// once answers with what do returns as JSON, or with the answer that an earlier request with the same
// idempotency key had. content is the digest of the body. Requests by GET change nothing, so that their
// key is ignored.
func once[Out any](h *Handler, w http.ResponseWriter, r *http.Request, content []byte, do func(context.Context) (Out, error)) {
	keys := r.Header.Values(idempotency.Header)
	if len(keys) == 0 || r.Method == http.MethodGet {
		out, err := do(r.Context())
		answer(w, r, out, err)
		return
	}
	if err := idempotency.CheckKey(keys); err != nil {
		fail(w, r, err)
		return
	}
	call := idempotency.Call{Key: keys[0], Request: [][]byte{[]byte(r.Method), []byte(r.URL.Path), []byte(r.URL.RawQuery), []byte(r.Header.Get("Ragd-Context")), content}}
	kept, repeated, err := h.config.Repeats.Do(r.Context(), call, func(ctx context.Context) ([]byte, error) {
		out, err := do(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	})
	if repeated && err == nil {
		w.Header().Set(idempotency.ReplayedHeader, "true")
	}
	answer(w, r, json.RawMessage(kept), err)
}

// notOnce returns an error for a request with an idempotency key whose answer is a stream.
func notOnce(r *http.Request) error {
	if len(r.Header.Values(idempotency.Header)) == 0 {
		return nil
	}
	return fault.Field(idempotency.Header, "an answer that streams is not kept: leave out stream, or the header")
}

// hashing is a body whose digest is known when it has been read.
type hashing struct {
	io.ReadCloser
	sum hash.Hash
}

// Read implements io.Reader.
func (b hashing) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.sum.Write(p[:n])
	return n, err
}

// digest returns a digest of what a form says, which does not depend on how it was sent.
func (f *fileForm) digest() ([]byte, error) {
	content := sha256.New()
	if _, err := io.Copy(content, f.content.Content()); err != nil {
		return nil, fmt.Errorf("read an uploaded file: %w", err)
	}
	return json.Marshal([]string{f.FileName, f.Purpose, f.anchor, f.seconds, hex.EncodeToString(content.Sum(nil))})
}
