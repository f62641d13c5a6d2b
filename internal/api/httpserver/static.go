package httpserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"
	"time"
)

// Static returns a handler that answers with content and these headers, compressed if the caller reads that. It has an ETag, by which caches ask
// whether they have the content.
func Static(content []byte, headers map[string]string) http.Handler {
	sum := sha256.Sum256(content)
	tag := hex.EncodeToString(sum[:8])
	compressed := sync.OnceValue(func() []byte { return Gzip(content) }) // by the first caller that reads it
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		for name, value := range headers {
			header.Set(name, value)
		}
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Vary", "Accept-Encoding")
		header.Set("ETag", `"`+tag+`"`)
		body := content
		if AcceptsGzip(r) {
			header.Set("Content-Encoding", "gzip")
			header.Set("ETag", `"`+tag+`-gzip"`)
			body = compressed()
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	})
}
