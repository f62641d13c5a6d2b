package console

import (
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/notices"
)

// files are the built page; see console/README.md.
//
//go:embed all:dist
var files embed.FS

// policy is the Content-Security-Policy of the page: scripts, styles and calls of this origin
// alone, none inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; " +
	"worker-src 'self' blob:; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// assets are the files whose names contain a hash of their content.
const assets = "/assets/"

// licenses is the name under which load has the licences of others.
const licenses = "licenses"

// Page answers GET and HEAD with the page, or with one of its files.
func (h *Handler) Page(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	protect(header)
	name := "dist/index.html"
	if strings.HasPrefix(r.URL.Path, assets) {
		name = "dist" + r.URL.Path // ReadFile takes no ..
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		header.Set("Cache-Control", "no-cache")
	}
	content, err := h.load(name)
	if err != nil {
		header.Set("Cache-Control", "no-store")
		http.NotFound(w, r)
		return
	}
	content.write(w, r, mime.TypeByExtension(path.Ext(name)))
}

// protect keeps browsers from doing with an answer what the page has no use for.
func protect(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
}

// licenses answers with the licences of what the binary contains.
func (h *Handler) licenses(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	w.Header().Set("Cache-Control", "no-cache")
	content, err := h.load(licenses)
	if err != nil {
		h.config.Refuse(w, r, err)
		return
	}
	content.write(w, r, "text/plain; charset=utf-8")
}

// Serves reports whether Page answers a request that no other handler wants: a browser's, for a
// page.
func Serves(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, assets) {
		return true
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html") && path.Ext(r.URL.Path) == "" && !strings.HasPrefix(r.URL.Path, "/ragd.v1.")
}

// content is a file and its compressed form, nil if that is not smaller.
type content struct{ plain, gzipped []byte }

// write answers with the content, compressed if the caller reads that.
func (c content) write(w http.ResponseWriter, r *http.Request, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Vary", "Accept-Encoding")
	body := c.plain
	if c.gzipped != nil && httpserver.AcceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		body = c.gzipped
	}
	_, _ = w.Write(body) // fails only if the caller has disconnected; the server drops it for HEAD
}

// load returns a file of the page, or licenses.
func (h *Handler) load(name string) (content, error) {
	if c, ok := h.files.Load(name); ok {
		return c.(content), nil
	}
	plain := notices.Text
	if name != licenses {
		var err error
		if plain, err = fs.ReadFile(files, name); err != nil {
			return content{}, err
		}
	}
	c := content{plain: plain}
	if gzipped := httpserver.Gzip(plain); len(gzipped) < len(plain) {
		c.gzipped = gzipped
	}
	h.files.Store(name, c)
	return c, nil
}
