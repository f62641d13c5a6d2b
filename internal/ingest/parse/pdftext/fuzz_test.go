package pdftext

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// For any lines at any places, the text of a page is valid and has the letters of every line.
func FuzzLayout(f *testing.F) {
	f.Add("Gates\nand locks\nThey open be-\nfore 12 m\n• an item\nof two lines", []byte{20, 0, 200, 20, 0, 176, 10, 0, 150, 10, 0, 138, 10, 9, 120, 10, 12, 108})
	f.Add("Berth\tDepth\tCrane\nNorth\t11\tyes\nFish\t4\tnone\n2\n2 A note", []byte{10, 0, 100, 10, 0, 88, 10, 0, 76, 6, 3, 70, 6, 0, 20})
	f.Fuzz(func(t *testing.T, text string, places []byte) {
		var lines []line
		for part := range strings.SplitSeq(text, "\n") {
			if len(places) < 3 {
				break
			}
			cells := strings.Split(part, "\t")
			l := line{size: float64(places[0]), along: float64(places[1]), across: float64(places[2]), bold: places[0]%2 == 1, level: int(places[1]) / 40}
			at := l.along
			for i, c := range cells {
				cells[i] = clean(c)
				if len(cells) > 1 {
					l.cells = append(l.cells, cell{cells[i], at, at + l.size*float64(len(c))/2})
					at += l.size * float64(len(c)+4) / 2
				}
			}
			places = places[3:]
			if l.text = clean(strings.Join(cells, " ")); l.text != "" {
				lines = append(lines, l)
			}
		}
		want := ""
		for _, l := range lines {
			want += l.text
		}
		got := pageOf(inColumns(slices.Clone(lines)), bodySize([][]line{lines}))
		if !utf8.ValidString(got) {
			t.Errorf("%q is not valid", got)
		}
		if a, b := letters(want), letters(got); a != b {
			t.Errorf("letters %q of the lines, %q of the page", a, b)
		}
		texts, _ := layout([][]line{lines, lines, slices.Clone(lines)}, []string{"i", "", "2"})
		for _, page := range texts {
			if !utf8.ValidString(page) {
				t.Errorf("%q is not valid", page)
			}
		}
	})
}

// letters returns the ASCII letters of a text in alphabetical order.
func letters(text string) string {
	found := []byte{}
	for i := range len(text) {
		if c := text[i]; c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			found = append(found, c)
		}
	}
	slices.Sort(found)
	return string(found)
}

// For any letters at any places, the order in which they are read keeps each of them.
func FuzzOrderOfGlyphs(f *testing.F) {
	f.Add("!דג two 42 ב ,א", []byte{1, 2, 3})
	f.Add("افشان\u0650لأدامن", []byte{9, 8, 7, 6, 5, 5, 4, 4, 3})
	f.Add("(\u05b8א) ב", []byte{})
	f.Fuzz(func(t *testing.T, text string, places []byte) {
		var words [][]glyph
		for word := range strings.FieldsSeq(strings.ToValidUTF8(text, "")) {
			var at []float64
			for i := range []rune(word) {
				along := float64(i)
				if len(places) > 0 {
					along, places = float64(places[0])/2, places[1:]
				}
				at = append(at, along)
			}
			words = append(words, glyphs([]rune(word), at))
		}
		count := 0
		for _, word := range words {
			for _, g := range word {
				count += len(g.text)
			}
		}
		got := logical(words)
		if kept := utf8.RuneCountInString(got) - max(0, len(words)-1); kept != count || !utf8.ValidString(got) {
			t.Errorf("%d characters of %d in %q", kept, count, got)
		}
	})
}

// For any page and any file around it, PDFium and what is made of its characters returns text or an error.
func FuzzPageContent(f *testing.F) {
	compiled(f)
	f.Add([]byte("BT /F 12 Tf 72 700 Td (Harbour) Tj 0 -14 Td [(T)80(ide) -900 (gate)] TJ ET"), []byte("<< >>"))
	f.Add([]byte("/P <</MCID 0>> BDC BT /F 1 Tf 12 0 3 12 72 700 Tm 3 Tr <48ffe9> Tj T* (a\\\n-) ' ET EMC q 0 1 -1 0 0 0 cm BT /F 9 Tf (b) Tj ET Q"),
		[]byte("<< /Rotate 90 /Annots [<< /Subtype /Link /Rect [0 0 99 999] /A << /S /URI /URI (https://example.org) >> >>] >>"))
	f.Add([]byte("/Artifact BMC BT /F 8 Tf 1 0 0 1 9 9 Tm (7) Tj ET EMC"), []byte("<< /UserUnit 9 /MediaBox [0 0 -5 9] >>"))
	f.Fuzz(func(t *testing.T, content, more []byte) {
		page, ok := bytes.CutPrefix(bytes.TrimSpace(more), []byte("<<"))
		page, closed := bytes.CutSuffix(page, []byte(">>"))
		if !ok || !closed {
			page = nil
		}
		checkFile(t, pdfOf(content, page))
	})
}

// For any bytes in place of some of a file, PDFium and what is made of its characters returns text or an error.
func FuzzDamagedFile(f *testing.F) {
	compiled(f)
	const files = "../testdata/"
	names := []string{files + "files/handbook.pdf", files + "files/form.pdf", files + "pdf/rows.pdf", files + "pdf/ruled.pdf", files + "pdf/turned.pdf", files + "pdf/type3.pdf"}
	var whole [][]byte
	for i, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		whole = append(whole, content)
		f.Add(uint8(i), uint32(len(content)/2), uint32(3), []byte("0 0 R"))
		f.Add(uint8(i), uint32(len(content)-40), uint32(40), []byte{})
		f.Add(uint8(i), uint32(300), uint32(0), []byte("<< /Kids [3 0 R] /Count 2147483647"))
	}
	f.Fuzz(func(t *testing.T, file uint8, at, length uint32, with []byte) {
		content := whole[int(file)%len(whole)]
		from := int(at) % len(content)
		to := min(len(content), from+int(length)%len(content))
		checkFile(t, slices.Concat(content[:from], with, content[to:]))
	})
}

// compiled compiles PDFium: the time for the first file would be too long for one of a fuzz test.
func compiled(f *testing.F) {
	f.Helper()
	if err := Prepare(); err != nil {
		f.Fatal(err)
	}
}

func checkFile(t *testing.T, content []byte) {
	t.Helper()
	read, err := Read(t.Context(), content, nil)
	if err != nil {
		return
	}
	if len(read.Labels) != len(read.Pages) {
		t.Errorf("%d labels of %d pages", len(read.Labels), len(read.Pages))
	}
	for _, text := range append([]string{read.Title, read.Author}, read.Pages...) {
		if !utf8.ValidString(text) {
			t.Errorf("%q is not valid", text)
		}
	}
}

// pdfOf returns a file of one page with a content, and more entries of the page.
func pdfOf(content, page []byte) []byte {
	var out bytes.Buffer
	var offsets []int
	add := func(format string, values ...any) {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(offsets)}, values...)...)
	}
	out.WriteString("%PDF-1.7\n")
	add("<< /Type /Catalog /Pages 2 0 R /MarkInfo << /Marked true >> >>")
	add("<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
	add("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> %s >>", page)
	add("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
	add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return out.Bytes()
}
