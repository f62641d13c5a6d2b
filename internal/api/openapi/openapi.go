// Package openapi serves the API as an OpenAPI document, which `make generate` makes from the proto files, and a
// page that shows it and tries calls. Both are public: they are the same for every service of a version.
package openapi

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/api/httpserver"
)

// Path is where the document is served.
const Path = "/openapi.json"

// PagePath is where the page is served; its files are below.
const PagePath = "/api"

// files are the document and the page.
//
//go:embed document/openapi.json page
var files embed.FS

// policy is the Content-Security-Policy of the page: scripts, styles and calls of this origin alone, none
// inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// maxAge is how long caches may use the document without asking again, in seconds.
const maxAge = 300

// Document returns the handler of the document.
func Document() http.Handler {
	return serve("document/openapi.json", fmt.Sprintf("public, max-age=%d", maxAge))
}

// Schemas returns the JSON Schemas of the messages by their names, as the document has them: they refer to each other by
// #/components/schemas/NAME.
func Schemas() (map[string]map[string]any, error) {
	content, err := fs.ReadFile(files, "document/openapi.json")
	if err != nil {
		return nil, err
	}
	var document struct {
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	return document.Components.Schemas, nil
}

// Page returns the handlers of the page and its files, by their paths.
func Page() map[string]http.Handler {
	handlers := map[string]http.Handler{PagePath: serve("page/index.html", "no-cache")}
	for _, name := range []string{"page.css", "page.js"} {
		handlers[PagePath+"/"+name] = serve("page/"+name, "no-cache")
	}
	return handlers
}

// serve returns a handler that answers with an embedded file, compressed if the caller reads that. It has an
// ETag, by which caches ask whether they have the file.
func serve(name, caching string) http.Handler {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		panic(err) // it is embedded
	}
	sum := sha256.Sum256(content)
	tag := hex.EncodeToString(sum[:8])
	compressed := sync.OnceValue(func() []byte { return httpserver.Gzip(content) }) // by the first caller that reads it
	contentType := mime.TypeByExtension(path.Ext(name))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", contentType)
		header.Set("Cache-Control", caching)
		header.Set("Content-Security-Policy", policy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Vary", "Accept-Encoding")
		header.Set("ETag", `"`+tag+`"`)
		body := content
		if httpserver.AcceptsGzip(r) {
			header.Set("Content-Encoding", "gzip")
			header.Set("ETag", `"`+tag+`-gzip"`)
			body = compressed()
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	})
}
