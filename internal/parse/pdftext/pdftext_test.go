package pdftext

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestScanner(t *testing.T) {
	t.Parallel()
	s := scanner{data: []byte("% c\n/N#41me -1.5 [(a\\(b(c)\\)\\101\\n) <4 1 4>] TJ<</K 1>>f(open")}
	var got []string
	for token := s.next(); token.kind != atEnd; token = s.next() {
		switch token.kind {
		case number:
			got = append(got, "number")
		case open:
			got = append(got, "open")
		case shut:
			got = append(got, "shut")
		default:
			got = append(got, string(token.bytes))
		}
	}
	want := []string{
		"NAme", "number", "open", "a(b(c))A\n", "A@", "shut", "TJ", "open", "K", "number", "shut", "f", "open",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestGlyphText(t *testing.T) {
	t.Parallel()
	for glyph, want := range map[string]string{
		"A": "A", "eacute": "é", "Aogonek": "Ą", "ffi": "ffi", "uni00410042": "AB", "u1F600": "😀", "a.sc": "a",
		"f_f_i": "ffi", "space": " ", "Scaron": "Š", "hyphen": "-", "g123": "", ".notdef": "", "zcaron": "ž",
	} {
		if got := glyphText(glyph); got != want {
			t.Errorf("glyphText(%q) = %q, want %q", glyph, got, want)
		}
	}
}

func TestCharMap(t *testing.T) {
	t.Parallel()
	m := readCharMap([]byte(`1 begincodespacerange <0000> <FFFF> endcodespacerange
		2 beginbfchar <0003> <00660066> <0004> <D83DDE00> endbfchar
		2 beginbfrange <0010> <0012> <0041> <0020> <0021> [<0061> <0062>] endbfrange`))
	for code, want := range map[int]string{3: "ff", 4: "😀", 0x10: "A", 0x12: "C", 0x13: "", 0x20: "a", 0x21: "b", 0x22: ""} {
		if got, ok := m.text(2, code); got != want || ok != (want != "") {
			t.Errorf("text(%#x) = %q, %v; want %q", code, got, ok, want)
		}
	}
	if n := m.codeLength("\x00\x03\x00"); n != 2 {
		t.Errorf("a code has %d bytes, want 2", n)
	}
}

// place returns the text matrix of upright text.
func place(x, y, size float64) matrix { return matrix{size, 0, 0, size, x, y} }

func TestLayout(t *testing.T) {
	t.Parallel()
	var b lineBuilder
	for _, p := range []struct {
		text       string
		x, y, size float64
		end        float64
	}{
		{"Gates", 10, 200, 20, 70},
		{"and locks", 10, 176, 20, 90},
		{"They op", 10, 150, 10, 45}, {"en", 45, 150, 10, 55}, {"early,", 58, 150, 10, 90}, {"2", 90, 154, 6, 94},
		{"be-", 10, 138, 10, 30}, {"fore ﬂood.", 10, 126, 10, 60},
		{"Another paragraph.", 10, 100, 10, 100}, {"It goes on.", 10, 88, 10, 100},
	} {
		b.add(p.text, place(p.x, p.y, p.size), place(p.end, p.y, p.size))
	}
	want := "# Gates and locks\n\nThey open early,2\nbefore flood.\n\nAnother paragraph.\nIt goes on."
	if diff := cmp.Diff(want, markdown(b.finish(), 10)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTextThatIsTurnedIsALine(t *testing.T) {
	t.Parallel()
	var b lineBuilder
	up := func(y float64) matrix { return matrix{0, 10, -10, 0, 50, y} }
	b.add("read", up(0), up(20))
	b.add("upwards", up(24), up(60))
	if got := b.finish(); len(got) != 1 || got[0].text != "read upwards" {
		t.Errorf("lines %+v", got)
	}
}

func TestReadAFile(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../testdata/files/handbook.pdf")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(t.Context(), content, nil)
	if err != nil || len(f.Pages) != 2 || f.Title != "Harbour handbook" || f.Unreadable != 0 {
		t.Fatalf("file %+v, %v", f, err)
	}
	if !strings.Contains(f.Pages[1], "30 € a night") {
		t.Errorf("page 2 is %q", f.Pages[1])
	}
}

func TestAnEncryptedFile(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../testdata/hostile/encrypted.pdf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), content, nil); !errors.Is(err, ErrEncrypted) {
		t.Errorf("error %v", err)
	}
}

// The interpreter must not fail for any content stream or character map.
func FuzzContent(f *testing.F) {
	f.Add([]byte("BT /F1 12 Tf 1 0 0 1 72 700 Tm (Hello) Tj 0 -14 Td [(wor) -300 (ld)] TJ ET"))
	f.Add([]byte("q BI /W 1 ID x EI Q /Artifact BMC (x) ' EMC BT <4142> Tj"))
	f.Add([]byte("1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <00> <FF> [<0041>] endbfrange"))
	f.Fuzz(func(t *testing.T, data []byte) {
		readCharMap(data)
		in := &interpreter{reader: &reader{}}
		in.state.text = textState{size: 10, scale: 1, font: &font{simple: winAnsiEncoding(), missing: 500}}
		if err := in.run(data, nil, identity, 0); err != nil {
			t.Fatal(err)
		}
		if text := markdown(in.lines.finish(), 10); !utf8.ValidString(text) {
			t.Errorf("the text is not valid UTF-8: %q", text)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	paths, err := filepath.Glob("../testdata/files/*.pdf")
	if err != nil || len(paths) != 1 {
		b.Fatal(paths, err)
	}
	content, err := os.ReadFile(paths[0])
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		if _, err := Read(b.Context(), content, nil); err != nil {
			b.Fatal(err)
		}
	}
}
