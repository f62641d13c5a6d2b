package main

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

func TestPagesAreWrittenAsPictures(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: args("index create documents"), stdout: anything})
	s.want(t, step{args: args("ingest --base ../../internal/ingest/parse/testdata/files ../../internal/ingest/parse/testdata/files/handbook.pdf"), stdout: anything, stderr: anything})
	path := filepath.Join(t.TempDir(), "page.png")
	s.want(t, step{args: []string{"document", "page", "--uri", "handbook.pdf", "--page", "2", "--width", "300", "--end-byte", "90", "-o", path}, stderr: "wrote " + path + ": page 2 of 2\n"})
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if drawn, err := png.Decode(bytes.NewReader(content)); err != nil || drawn.Bounds().Dx() != 300 {
		t.Errorf("picture: %v", err)
	}
	for _, want := range []step{
		{args: args("document page --uri handbook.pdf --page 2 --link"), stdout: "...http"},
		{args: args("document page --uri handbook.pdf --page 3"), code: 1, stderr: "...must be from 1 to 2"},
		{args: args("document page --uri other.pdf"), code: 1, stderr: "...not found"},
	} {
		s.want(t, want)
	}
}
