package httpserver

import (
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
