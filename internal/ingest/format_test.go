package ingest

import (
	"testing"

	"github.com/ragdhq/ragd/internal/fault"
)

func TestContentType(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, given, uri, content, want string
	}{
		{"what the caller says", "text/markdown; charset=utf-8", "a.html", "x", "text/markdown"},
		{"the name's ending", "", "docs/Guide.MD", "x", "text/markdown"},
		{"a page by its bytes", "", "page", "<!DOCTYPE html><title>x</title>", "text/html"},
		{"text that begins like a bitmap", "", "doc17", "BMW is a maker of cars.", "text/plain"},
		{"text that begins like a PDF", "", "doc18", "%PDF-1.4 is what such files begin with.", "text/plain"},
		{"source code by its name", "", "main.go", "package main", "text/plain"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := contentType(tc.given, tc.uri, []byte(tc.content))
			if err != nil || got != tc.want {
				t.Errorf("contentType = %q, %v; want %q", got, err, tc.want)
			}
		})
	}
	for _, refused := range []string{"image/png", "application/pdf", "nonsense", "text/"} {
		if _, err := contentType(refused, "", []byte("x")); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", refused, err)
		}
	}
}

func TestTitleOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, contentType, text, want string }{
		{"the first heading", "text/markdown", "intro\n\n# The  Plan #\r\n\n# Other", "The Plan"},
		{"no heading", "text/markdown", "just text\n## deeper", ""},
		{"a page's title", "text/html", "<html><head><title>\n A &amp; B </title>", "A & B"},
		{"a page without one", "text/html", "<p>text", ""},
		{"plain text has none", "text/plain", "# not a heading", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := titleOf(tc.contentType, tc.text); got != tc.want {
				t.Errorf("titleOf = %q, want %q", got, tc.want)
			}
		})
	}
}
