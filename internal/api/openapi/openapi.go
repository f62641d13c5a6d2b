// Package openapi serves the API as an OpenAPI document, which `make generate` makes from the proto files, and a
// page that shows it and tries calls. Both are public: they are the same for every service of a version.
package openapi

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"

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

// serve returns a handler that answers with an embedded file.
func serve(name, caching string) http.Handler {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		panic(err) // it is embedded
	}
	return httpserver.Static(content, map[string]string{
		"Content-Type": mime.TypeByExtension(path.Ext(name)), "Cache-Control": caching, "Content-Security-Policy": policy, "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
	})
}
