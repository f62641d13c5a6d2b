package parse

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// hostile holds the expected error of each hostile file.
var hostile = map[string]string{
	"empty.pdf":            "content: is a PDF file without a text layer",
	"truncated.pdf":        "content: is a broken PDF file",
	"garbage.pdf":          "content: is a broken PDF file",
	"encrypted.pdf":        "content: is an encrypted PDF file: remove its password",
	"no-text.pdf":          "content: is a PDF file without a text layer: run character recognition",
	"bomb.pdf":             "content: is a PDF file without a text layer",
	"page-loop.pdf":        "content: is a broken PDF file",
	"many-pages.pdf":       "content: is a",
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
	"old.doc":              "content: is a DOC file of Office before 2007, which cannot be read: save it as DOCX",
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
	"truncated.txt.gz":     "content: is a broken gzip file",
	"truncated.md.xz":      "content: is a broken xz file",
	"bomb.txt.gz":          "content: is a gzip file that is too large inside: it unpacks to more than",
	"bomb.txt.zst":         "content: is a Zstandard file that is too large inside",
	"bomb.txt.xz":          "content: is an xz file that is too large inside",
	"long-window.zst":      "content: is a Zstandard file that is too large inside",
	"long-window.xz":       "content: is an xz file that is too large inside",
	"deep.html":            "content: is an HTML file without text",
	"only-navigation.html": "content: is an HTML file without text",
	"bad-line.jsonl":       "content: is a broken JSON Lines file",
	"cyrillic.txt":         "content: is not UTF-8 text, and its encoding is not certain",
	"picture.pdf":          "content: is of the kind image",
	"blank.md":             "content: is a Markdown file without text",
	"deep.rtf":             "content: is a broken RTF file",
	"bin.rtf":              "content: is a broken RTF file",
	"no-body.eml":          "content: is a",
	"encrypted.eml":        "content: is an encrypted email file",
	"encrypted.msg":        "content: is an encrypted Outlook file",
	"truncated.msg":        "content: is a broken Outlook file",
	"broken.ipynb":         "content: is a broken notebook file",
	"deep.ipynb":           "content: is a broken notebook file",
	"no-cells.ipynb":       "content: is a notebook file without text",
	"no-times.srt":         "content: is a broken subtitle file",
	"many-parts.eml":       "content: is an email file that is too large inside",
}

// hostilePatience ends the reading of a file that would go on for ever: a busy machine takes half a minute for what
// takes a second on a quiet one.
const hostilePatience = 5 * time.Minute

func TestEveryHostileFileIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := Parse(t.Context(), Source{Content: read(t, filepath.Join("testdata", "files", "handbook.pdf"))}); err != nil {
		t.Fatal(err) // the first PDF file also waits for its reader to be compiled
	}
	seen := 0
	for _, path := range files(t, "hostile") {
		name := filepath.Base(path)
		if name == "form-bomb.pdf" {
			continue // only the end of the process stops it, see package subprocess
		}
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

// packed returns a zip file with these parts.
func packed(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		method := zip.Deflate
		if name == "mimetype" {
			method = zip.Store
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A list of a few bytes for each entry may name the same large part thousands of times.
// The part is read once.
func TestARepeatedPartIsReadOnce(t *testing.T) {
	t.Parallel()
	const times = 9000
	items := ""
	for i := range times {
		items += fmt.Sprintf(`<item id="c%d" href="chapter.html"/>`, i)
	}
	book := packed(t, map[string]string{
		"mimetype":               "application/epub+zip",
		"META-INF/container.xml": `<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>`,
		"book.opf": `<package><manifest>` + items + `<item id="other" href="other.html"/></manifest><spine>` +
			strings.Repeat(`<itemref idref="c0"/><itemref idref="c1"/><itemref idref="c8999"/>`, times/3) + `<itemref idref="other"/></spine></package>`,
		"chapter.html": "<p>The tide turns." + strings.Repeat(" ", 1<<20) + "</p>",
		"other.html":   "<p>The wind rises.</p>",
	})
	const relations = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	const show = `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst>`
	slides := packed(t, map[string]string{
		"[Content_Types].xml":              `<Types/>`,
		"ppt/presentation.xml":             show + strings.Repeat(`<p:sldId id="1" r:id="a"/><p:sldId id="2" r:id="b"/>`, times/2) + `</p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels":  relations + `<Relationship Id="a" Target="slides/slide1.xml"/><Relationship Id="b" Target="/ppt/slides/slide2.xml"/></Relationships>`,
		"ppt/slides/slide1.xml":            `<sld><sp><p><t>The tide turns.</t></p></sp>` + strings.Repeat(" ", 1<<20) + `</sld>`,
		"ppt/slides/slide2.xml":            `<sld><sp><p><t>The wind rises.</t></p></sp></sld>`,
		"ppt/slides/_rels/slide1.xml.rels": relations + `<Relationship Id="a" Type="x/notesSlide" Target="../notesSlides/n.xml"/><Relationship Id="b" Type="x/notesSlide" Target="../notesSlides/n.xml"/></Relationships>`,
		"ppt/slides/_rels/slide2.xml.rels": relations + `<Relationship Id="a" Type="x/notesSlide" Target="../notesSlides/n.xml"/></Relationships>`,
		"ppt/notesSlides/n.xml":            `<notes><sp><p><t>Slowly.</t></p></sp></notes>`,
	})
	for name, want := range map[string]string{
		"book.epub": "The tide turns.\n\nThe wind rises.", "show.pptx": "The tide turns.\n\nNotes: Slowly.\n\nThe wind rises.",
	} {
		content := map[string][]byte{"book.epub": book, "show.pptx": slides}[name]
		p := &parser{src: Source{Content: content, FileName: name}, format: map[string]Format{"book.epub": EPUB, "show.pptx": PPTX}[name], budget: newBudget()}
		if err := p.parse(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := strings.TrimSpace(p.text.String()); got != want {
			t.Errorf("%s: text of %d bytes %.200q, want %q", name, len(got), got, want)
		}
		if unpacked := maxUnpacked - p.budget.left; unpacked > 4<<20 {
			t.Errorf("%s: %d bytes were unpacked", name, unpacked)
		}
	}
}

func TestSheetsThatNameOnePartAreRefused(t *testing.T) {
	t.Parallel()
	content := read(t, "testdata/files/berths.xlsx")
	whole, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, f := range whole.File {
		data, err := fs.ReadFile(whole, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		parts[f.Name] = string(data)
	}
	sheet := func(name, relation string) string {
		return `<sheet xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" name="` + name + `" sheetId="9" r:id="` + relation + `"/>`
	}
	many := ""
	for i := range maxSheets {
		many += sheet("s"+strconv.Itoa(i), "r"+strconv.Itoa(i))
	}
	const book, relations = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
	for more, want := range map[string]string{
		"":                      "",
		sheet("again", "rId1"):  "content: is a broken XLSX file",
		sheet("backslash", "b"): "content: is a broken XLSX file",
		sheet("dots", "d"):      "content: is a broken XLSX file",
		many:                    "content: is an XLSX file that is too large inside: it has 5003 sheets, over the limit of 5000",
	} {
		changed := maps.Clone(parts)
		changed[book] = strings.Replace(changed[book], "</sheets>", more+"</sheets>", 1)
		changed[relations] = strings.Replace(changed[relations], "</Relationships>",
			`<Relationship Id="b" Target="worksheets\sheet1.xml"/><Relationship Id="d" Target="./x/../worksheets/sheet1.xml"/></Relationships>`, 1)
		_, err := Parse(t.Context(), Source{Content: packed(t, changed), FileName: "book.xlsx"})
		if want == "" && err != nil || want != "" && !strings.HasPrefix(fault.Public(err), want) {
			t.Errorf("%.200s: %v, want %q", more, err, want)
		}
	}
}

// The bombs unpack to hundreds of megabytes. Reading each must stay within a fixed limit
// of memory. The test is not parallel, because it measures the whole process.
func TestBombsStayInBoundedMemory(t *testing.T) {
	for _, name := range []string{"bomb.zip", "bomb.tar.gz", "bomb.docx", "bomb.xlsx", "bomb.txt.gz", "bomb.txt.zst", "bomb.txt.xz", "long-window.zst", "long-window.xz", "bomb-of-bombs.zip", "bomb.pdf", "deep-xml.docx"} {
		content := read(t, filepath.Join("testdata/hostile", name))
		debug.FreeOSMemory()
		most := peakHeap(t, func() {
			if _, err := Parse(t.Context(), Source{Content: content, FileName: name}); err == nil {
				t.Errorf("%s was read", name)
			}
		})
		limit := uint64(300 << 20)
		if name == "bomb.pdf" {
			limit = 640 << 20 // the memory of PDFium is copied when it grows
		}
		if most > limit {
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
