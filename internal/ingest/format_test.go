package ingest

import (
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestContentType(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, given, uri, content, want string
	}{
		{"what the caller says", "text/markdown; charset=utf-8", "a.html", "x", "text/markdown"},
		{"an encoding that the text needs", "text/plain; charset=KOI8-R", "a", "\xf0\xd2\xc9\xd7\xc5\xd4", "text/plain; charset=koi8-r"},
		{"an encoding that the text does not have", "text/csv; charset=koi8-r", "a", "a;b", "text/csv"},
		{"the name's ending", "", "docs/Guide.MD", "x", "text/markdown"},
		{"a page by its bytes", "", "page", "<!DOCTYPE html><title>x</title>", "text/html"},
		{"text that begins like a bitmap", "", "doc17", "BMW is a maker of cars.", "text/plain"},
		{"text that begins like a PDF", "", "doc18", "%PDF-1.4 is what such files begin with.", "text/plain"},
		{"a manual page", "", "man/gate.8", ".TH GATE 8\n.SH NAME\ngate", "text/troff"},
		{"a log with a number", "", "log/server.1", "12:00 started", "text/plain"},
		{"source code by its name", "", "main.go", "package main", "text/plain"},
		{"a PDF whatever it is called", "text/plain", "a.txt", "%PDF-1.7\n1 0 obj", "application/pdf"},
		{"bytes of no declared type", "application/octet-stream", "a.md", "x", "text/markdown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, got, err := contentType(tc.given, tc.uri, []byte(tc.content), Reads{})
			if err != nil || got != tc.want {
				t.Errorf("contentType = %q, %v; want %q", got, err, tc.want)
			}
		})
	}
	picture := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	if _, got, err := contentType("", "gate.png", picture, Reads{Pictures: true}); err != nil || got != "image/png" {
		t.Errorf("a picture that can be read is %s, %v", got, err)
	}
	for _, declared := range []string{"", "image/png"} {
		if _, got, err := contentType(declared, "gate.jpg", []byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00"), Reads{Pictures: true}); err != nil || got != "image/jpeg" {
			t.Errorf("a picture of another kind, declared %q, is %s, %v", declared, got, err)
		}
	}
	if _, _, err := contentType("", "gate.png", picture, Reads{}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a picture that cannot be read: %v", err)
	}
	for _, refused := range []string{"image/png", "audio/mpeg", "application/pdf", "nonsense", "text/"} {
		if _, _, err := contentType(refused, "", []byte("x"), Reads{}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", refused, err)
		}
	}
}
