// Package answerbox serves the answer box: one script that puts a box for questions into anybody's page. It is built
// from console/box by make console, and is the same for every service of a version, so that it needs no credential
// and pages of all origins may load it. The box itself asks with an API key that has origins (package access).
package answerbox

import (
	_ "embed"
	"fmt"
	"net/http"

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
	return httpserver.Static(script, map[string]string{
		"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": fmt.Sprintf("public, max-age=%d", maxAge),
		"Access-Control-Allow-Origin":  "*", // for pages that load it with crossorigin and integrity
		"Cross-Origin-Resource-Policy": "cross-origin",
	})
}
