package httpserver

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// AcceptsGzip reports whether the answer to a request may be compressed by gzip.
func AcceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(coding, ";")
		if strings.TrimSpace(name) == "gzip" && strings.TrimSpace(quality) != "q=0" {
			return true
		}
	}
	return false
}

// Gzip returns content compressed as far as gzip can, for what is served again and again.
func Gzip(content []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is valid
	}
	_, _ = w.Write(content) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}
