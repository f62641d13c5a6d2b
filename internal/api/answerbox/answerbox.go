// Package answerbox serves the answer box: one script that puts a box for questions into anybody's page. It is built
// from console/box by make console, and is the same for every service of a version, so that it needs no credential
// and pages of all origins may load it. The box itself asks with an API key that has origins (package access).
package answerbox

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"github.com/ragdhq/ragd/internal/api/httpserver"
)

// Path is where the script is served.
const Path = "/answer-box.js"

//go:embed dist/answer-box.js
var script []byte

// maxAge is how long caches may use the script without asking again, in seconds.
const maxAge = 300

// Script returns the handler of the script.
func Script() http.Handler {
	sum := sha256.Sum256(script)
	tag, compressed := hex.EncodeToString(sum[:8]), httpserver.Gzip(script)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", "text/javascript; charset=utf-8")
		header.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", maxAge))
		header.Set("Access-Control-Allow-Origin", "*") // for pages that load it with crossorigin and integrity
		header.Set("Cross-Origin-Resource-Policy", "cross-origin")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Vary", "Accept-Encoding")
		content, version := script, tag
		if httpserver.AcceptsGzip(r) {
			header.Set("Content-Encoding", "gzip")
			content, version = compressed, tag+"-gzip"
		}
		header.Set("ETag", `"`+version+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}
