package parse

import "testing"

func TestTitlesOfGeneratorsAreNoTitles(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Microsoft Word - Report.docx": "", "Microsoft PowerPoint - Kickoff": "", "untitled": "", "Untitled-1": "", "untitled document": "",
		"Unbenanntes Dokument": "Unbenanntes Dokument", "Unbenannt": "", "Document1": "", "Dokument 2": "", "Slide 1": "", "Folie 1": "", "スライド 1": "",
		"PowerPoint Presentation": "", "PptxGenJS Presentation": "", "PowerPoint-Präsentation": "", "Présentation PowerPoint": "", "Презентация PowerPoint": "", "PowerPoint 演示文稿": "",
		`C:\Users\ana\fees.doc`: "", "/home/ana/fees final.tex": "", "file:///tmp/a": "", "fees final.docx": "", "fees.pdf": "", "Book1": "", "Mappe1": "",
		"þÿ": "", "-": "", "20240304120000": "", "3f2504e0-4f89-11d3-9a0c-0305e82c3301": "", "none": "", "(anonymous)": "", "about:blank": "", "New Page 1": "",
		"harbour_fees-v3": "", // the name of the file

		"Annual Report": "Annual Report", "1984": "1984", "Document management": "Document management", "Slide rules of the 1950s": "Slide rules of the 1950s",
		"PowerPoint for beginners": "PowerPoint for beginners", "Untitled Goose Game": "Untitled Goose Game", "How to read index.html": "How to read index.html",
		"and/or": "and/or", "Scan of the harbour": "Scan of the harbour", "2024-03-04": "2024-03-04", "C: A Reference Manual": "C: A Reference Manual", "TCP/IP": "TCP/IP", "Page layout": "Page layout",
	} {
		if got := ownTitle(title, "docs/harbour_fees-v3.pdf"); got != want {
			t.Errorf("ownTitle(%q) = %q, want %q", title, got, want)
		}
	}
}

func TestNameOfAFileAsTitle(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"docs/harbour_fees-2024-03.pdf": "harbour fees 2024-03", "Kickoff (1).pptx": "Kickoff", "2024-03-04.md": "2024-03-04", "manual.txt.gz": "manual",
		"backup.tar.gz": "backup", `C:\docs\Annual_Report.docx`: "Annual Report", "https://example.com/docs/user%20guide.html?page=2#top": "user guide",
		"https://example.com/docs/install/index.html": "install", "index.html": "index", "cmd/serve/README.md": "serve", "Gebühren-Übersicht.odt": "Gebühren Übersicht",
		"3f2504e0-4f89-11d3-9a0c-0305e82c3301.pdf": "", "docs/fees": "", "doc1.txt": "", "手册.pdf": "手册", "document:3f2504e0-4f89-11d3-9a0c-0305e82c3301": "", "v1.2": "", "": "", ".txt": "", "1700000000000.txt": "",
	} {
		if got := nameTitle(name, PDF); got != want {
			t.Errorf("nameTitle(%q) = %q, want %q", name, got, want)
		}
	}
	if got := nameTitle("internal/gate_test.go", Code); got != "gate_test.go" {
		t.Errorf("of source code: %q", got)
	}
}

func TestTitleIsTheDocumentsOwn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ file, content, want string }{
		"a first heading":                          {"a.md", "## Fees of the harbour\n\nThirty.\n", "Fees of the harbour"},
		"a text before the first heading":          {"fees_2024.md", "Thirty.\n\n## Reductions\n\nNone.\n", "fees 2024"},
		"a later heading of level 1":               {"a.md", "Thirty.\n\n# Reductions\n\nNone.\n", "Reductions"},
		"a page that a program has titled":         {"a.html", "<title>Untitled Document</title><h1>Fees of the harbour</h1><p>Thirty.</p>", "Fees of the harbour"},
		"a page titled so and without a heading":   {"harbour-fees.html", "<title>New Page 1</title><p>Thirty.</p>", "harbour fees"},
		"an RTF file titled by a path":             {"a.rtf", `{\rtf1{\info{\title C:\\\\docs\\\\fees.doc}}{\stylesheet{\s1\outlinelevel0 heading 1;}}\pard\s1\outlinelevel0 Fees of the harbour\par\pard Thirty.\par}`, "Fees of the harbour"},
		"a message, whose subject is what it says": {"a.eml", "Subject: untitled\n\nThirty.\n", "untitled"},
		"plain text": {"notes/harbour_fees.txt", "Thirty.\n", "harbour fees"},
	} {
		d, err := Parse(t.Context(), Source{Content: []byte(tc.content), FileName: tc.file})
		if err != nil || d.Title != tc.want {
			t.Errorf("%s: %q, %v; want %q", name, d.Title, err, tc.want)
		}
	}
}
