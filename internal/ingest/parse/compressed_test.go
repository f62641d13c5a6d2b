package parse

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// gzipped returns content compressed with gzip.
func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(content)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What a compressed file holds is read by its name without the ending of the compression.
func TestCompressedFilesAreReadAsWhatTheyHold(t *testing.T) {
	t.Parallel()
	table := gzipped(t, []byte("Berth,Fee\nNorth 1,30\n"))
	for _, tc := range []struct {
		name, file string
		content    []byte
		format     Format
		text       string
	}{
		{"a table", "fees.csv.gz", table, CSV, "Berth: North 1; Fee: 30"},
		{"an ending in capitals", "FEES.CSV.GZ", table, CSV, "Berth: North 1; Fee: 30"},
		{"a page by its look", "page.gz", gzipped(t, []byte("<!doctype html><h1>Tides</h1>")), HTML, "# Tides"},
		{"twice", "notes.txt.gz.gz", gzipped(t, gzipped(t, []byte("Tide."))), Text, "Tide."},
		{"an office file", "plan.docx.gz", gzipped(t, read(t, "testdata/files/plan.docx")), DOCX, ""},
	} {
		d, err := Parse(t.Context(), Source{Content: tc.content, FileName: tc.file})
		if err != nil || d.Format != tc.format || tc.text != "" && d.Text != tc.text {
			t.Errorf("%s is %s %q, %v", tc.name, d.Format, d.Text, err)
		}
	}
	thrice := gzipped(t, gzipped(t, gzipped(t, []byte("Tide."))))
	if _, err := Parse(t.Context(), Source{Content: thrice}); !isInvalid(err) || !strings.Contains(err.Error(), "stand in each other more than 2 deep") {
		t.Errorf("three times: %v", err)
	}
	picture := gzipped(t, append([]byte("\x89PNG\r\n\x1a\n\x00"), make([]byte, 2*compressedHead)...))
	if _, err := Detect(Source{Content: picture, FileName: "logo.png.gz"}); !isInvalid(err) || !strings.Contains(err.Error(), "of the kind image") {
		t.Errorf("a picture: %v", err)
	}
	if _, err := Parse(t.Context(), Source{Content: gzipped(t, nil)}); !isInvalid(err) || !strings.Contains(err.Error(), "is a gzip file without text") {
		t.Errorf("nothing: %v", err)
	}
}

// Members of archives that are compressed are read too, from the same budget.
func TestCompressedFilesInArchives(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, member := range []struct {
		name    string
		content []byte
	}{
		{"a.txt.gz", gzipped(t, []byte("High water."))},
		{"bomb.txt.gz", read(t, "testdata/hostile/bomb.txt.gz")},
		{"b.md.xz", read(t, "testdata/files/tides.md.xz")},
	} {
		w, err := archive.Create(member.name)
		if err == nil {
			_, err = w.Write(member.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := Parse(t.Context(), Source{Content: out.Bytes(), FileName: "all.zip"})
	if err != nil {
		t.Fatal(err)
	}
	check(t, d)
	if !strings.Contains(d.Text, "# a.txt.gz\n\nHigh water.") || !strings.Contains(d.Text, "# b.md.xz") || len(d.Skipped) != 1 || !strings.Contains(d.Skipped[0], "bomb.txt.gz") {
		t.Errorf("%q, skipped %q", d.Text, d.Skipped)
	}
}

// For any bytes after a signature, a compressed file is read or refused, within its budget.
func FuzzCompressed(f *testing.F) {
	for _, name := range []string{"note.txt.gz", "tides.md.xz", "berths.csv.zst", "gate.go.bz2", "archive.tar.xz"} {
		f.Add(read(f, "testdata/files/"+name), name)
	}
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		d, err := Parse(t.Context(), Source{Content: content, FileName: name})
		if err == nil {
			check(t, d)
		} else if !isInvalid(err) {
			t.Errorf("error %v", err)
		}
	})
}

// A tar archive in Zstandard whose members are passed over is bounded as well.
func TestACompressedTarIsBoundedAsAWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(z)
	err = archive.WriteHeader(&tar.Header{Name: ".hidden", Size: 2 * maxUnpacked, Mode: 0o600})
	if err == nil {
		_, err = io.CopyN(archive, zeros{}, 2*maxUnpacked)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(t.Context(), Source{Content: out.Bytes()}); !isInvalid(err) {
		t.Errorf("error %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
