package parse

import (
	"archive/zip"
	"bytes"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/fault"
)

// hostile holds the expected error of each hostile file.
var hostile = map[string]string{
	"empty.pdf":            "content: is a PDF file without a text layer",
	"truncated.pdf":        "content: is a broken PDF file",
	"garbage.pdf":          "content: is a broken PDF file",
	"encrypted.pdf":        "content: is an encrypted PDF file: remove its password",
	"no-text.pdf":          "content: is a PDF file without a text layer: run character recognition",
	"bomb.pdf":             "content: is a PDF file that is too large inside",
	"page-loop.pdf":        "content: is a broken PDF file",
	"many-pages.pdf":       "content: is a",
	"form-bomb.pdf":        "content: is a PDF file that is too large inside",
	"deep-arrays.pdf":      "content: is a broken PDF file",
	"truncated.docx":       "content: is a broken DOCX file",
	"encrypted-part.docx":  "content: is an encrypted DOCX file",
	"no-document.docx":     "content: is a broken DOCX file",
	"broken-xml.docx":      "content: is a broken DOCX file: open it in the program that made it and save it again",
	"billion-laughs.docx":  "content: is a broken DOCX file",
	"outside-entity.docx":  "content: is a broken DOCX file",
	"deep-xml.docx":        "content: is a broken DOCX file",
	"bomb.docx":            "content: is a DOCX file that is too large inside",
	"empty.docx":           "content: is a DOCX file without text",
	"password.docx":        "content: is an encrypted DOCX file",
	"old.doc":              "content: is an Office file of the format used before 2007, which cannot be read: save it as DOCX",
	"missing-slide.pptx":   "content: is a broken PPTX file",
	"broken-xml.xlsx":      "content: is a broken XLSX file",
	"bomb.xlsx":            "content: is a",
	"no-package.epub":      "content: is a broken EPUB file",
	"protected.epub":       "content: is an encrypted EPUB file",
	"bomb.zip":             "content: is a zip file that is too large inside",
	"bomb-of-bombs.zip":    "content: is a zip file of which nothing could be read: in.zip: is a zip file that is too large inside",
	"nested.zip":           "content: is a zip file of which nothing could be read",
	"encrypted.zip":        "content: is an encrypted zip file",
	"only-pictures.zip":    "content: is a zip file of which nothing could be read: a.png: is of the kind image",
	"empty.zip":            "content: is a zip file without text",
	"bomb.tar.gz":          "content: is a tar file that is too large inside",
	"truncated.tar":        "content: is a broken tar file",
	"single.gz":            "content: is a single file packed with gzip",
	"deep.html":            "content: is a broken HTML file",
	"only-navigation.html": "content: is an HTML file without text",
	"bad-line.jsonl":       "content: is a broken JSON Lines file",
	"latin1.txt":           "content: is not valid UTF-8: convert it to UTF-8 text",
	"picture.pdf":          "content: is of the kind image",
	"blank.md":             "content: is a Markdown file without text",
	"note.rtf":             "content: is an RTF file, which cannot be read: save it as DOCX",
	"no-body.eml":          "content: is a",
	"encrypted.eml":        "content: is an encrypted email file",
	"many-parts.eml":       "content: is an email file that is too large inside",
}

// No hostile file may take longer than this, also on a busy machine with the race
// detector.
const hostilePatience = 30 * time.Second

func TestEveryHostileFileIsRefused(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, path := range files(t, "hostile") {
		name := filepath.Base(path)
		want, ok := hostile[name]
		if !ok {
			t.Errorf("no error is expected of %s", name)
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			d, err := Parse(t.Context(), Source{Content: read(t, path), FileName: name})
			if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(fault.Public(err), want) {
				t.Errorf("error %v, want %q; text of %d bytes %q", err, want, len(d.Text), d.Text[:min(len(d.Text), 100)])
			}
			if took := time.Since(start); took > hostilePatience {
				t.Errorf("took %v", took)
			}
		})
	}
	if seen != len(hostile) {
		t.Errorf("%d files for %d expected errors", seen, len(hostile))
	}
}

func TestTooManyMembers(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := range maxMembers + 1 {
		if _, err := z.Create(strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Parse(t.Context(), Source{Content: out.Bytes()})
	if want := "content: is a zip file that is too large inside: it has 10001 members"; !strings.HasPrefix(fault.Public(err), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// The bombs unpack to hundreds of megabytes. Reading each must stay within a fixed limit
// of memory. The test is not parallel, because it measures the whole process.
func TestBombsStayInBoundedMemory(t *testing.T) {
	for _, name := range []string{"bomb.zip", "bomb.tar.gz", "bomb.docx", "bomb.xlsx", "bomb-of-bombs.zip", "form-bomb.pdf", "bomb.pdf", "deep-xml.docx"} {
		content := read(t, filepath.Join("testdata/hostile", name))
		debug.FreeOSMemory()
		most := peakHeap(t, func() {
			if _, err := Parse(t.Context(), Source{Content: content, FileName: name}); err == nil {
				t.Errorf("%s was read", name)
			}
		})
		if limit := uint64(300 << 20); most > limit {
			t.Errorf("%s needs %d MiB, over the limit of %d", name, most>>20, limit>>20)
		}
	}
}

// peakHeap returns by how many bytes the heap grows while f runs, including garbage.
func peakHeap(t *testing.T, f func()) uint64 {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := heap()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	most := before
	for ticker := time.NewTicker(time.Millisecond); ; {
		select {
		case <-done:
			ticker.Stop()
			return most - before
		case <-ticker.C:
			most = max(most, heap())
		}
	}
}
