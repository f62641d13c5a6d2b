package parse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// book returns an EPUB file whose spine has the chapters in this order.
func book(t *testing.T, manifest string, chapters map[string]string, order ...string) []byte {
	t.Helper()
	parts := map[string]string{
		"mimetype":               "application/epub+zip",
		"META-INF/container.xml": `<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>`,
	}
	spine := ""
	for name, content := range chapters {
		parts["OPS/"+name] = content
		manifest += `<item id="` + name + `" href="` + name + `"/>`
	}
	for _, name := range order {
		spine += `<itemref idref="` + name + `"/>`
	}
	parts["OPS/book.opf"] = `<package><manifest>` + manifest + `</manifest><spine>` + spine + `</spine></package>`
	return packed(t, parts)
}

func TestBooks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, manifest string
		chapters       map[string]string
		want           string
	}{
		{"titles of the navigation", `<item id="n" href="nav.html" properties="scripted nav"/>`, map[string]string{
			"nav.html": `<nav epub:type="toc"><a href="b.html#x">Second  part</a><a href="a.html">First</a></nav>`, "a.html": `<p>one</p>`, "b.html": `<p>two</p>`,
		}, "# First\n\none\n\n# Second part\n\ntwo"},
		{"titles of the older navigation", `<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>`, map[string]string{
			"toc.ncx": `<ncx><navMap><navPoint><navLabel><text>First</text></navLabel><content src="a.html"/></navPoint></navMap></ncx>`, "a.html": `<p>one</p>`, "b.html": `<h2>Own</h2><p>two</p>`,
		}, "# First\n\none\n\n## Own\n\ntwo"},
		{"notes", "", map[string]string{
			"a.html": `<p>one<a epub:type="noteref" href="#f">1</a> more</p><p>next<a epub:type="noteref" href="#f">1</a></p><aside epub:type="footnote" id="f"><p>note <a role="doc-backlink" href="#r">back</a></p></aside>`,
			"b.html": `<p>two<a role="doc-noteref" href="#g">*</a></p><section><ol><li id="g">deep <a epub:type="noteref" href="#g">x</a></li></ol></section>`,
		}, "one[^1] more\n\n[^1]: note\n\nnext1\n\ntwo[^2]\n\n[^2]: deep x"},
		{"notes in another part", `<item id="c.html" href="c.html"/>`, map[string]string{
			"a.html": `<p>one<a epub:type="noteref" href="b.html#f">1</a> more</p><p>two<a epub:type="noteref" href="b.html#g">2</a><a epub:type="noteref" href="c.html#h">3</a></p>`,
			"b.html": `<h1>Notes</h1><p><a id="f" href="a.html#r">1.</a> first</p><ol><li id="g">second <a href="a.html#s">back</a></li></ol>`,
			"c.html": `<p id="h">third</p>`,
		}, "one[^1] more\n\n[^1]: first\n\ntwo[^2][^3]\n\n[^3]: third\n\n[^2]: second"},
		{"a part with notes and text", "", map[string]string{
			"a.html": `<p>one<a epub:type="noteref" href="b.html#f">1</a></p>`,
			"b.html": `<p id="f">first</p><p>after<a epub:type="noteref" href="a.html#x">2</a></p>`,
		}, "one[^1]\n\n[^1]: first\n\nafter2"},
		{"pages of the printed book", "", map[string]string{"a.html": `<p>on<span epub:type="pagebreak">12</span>e</p>`, "b.html": `<p>two</p><aside>box</aside>`}, "one\n\ntwo\n\nbox"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, err := Parse(t.Context(), Source{Content: book(t, tc.manifest, tc.chapters, "a.html", "b.html")})
			if diff := cmp.Diff(tc.want, d.Text); diff != "" || err != nil {
				t.Errorf("error %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

// Notes within notes do not multiply the text, and a note may refer to itself.
func TestHostileNotesOfBooks(t *testing.T) {
	t.Parallel()
	references := ""
	for range 100 {
		references += `<a epub:type="noteref" href="#n">1</a><a epub:type="noteref" role="doc-backlink" href="#m">1</a>`
	}
	nested := strings.Repeat(`<aside id="n">x`+references, 50) + `<p id="m">` + references + `</p>` + strings.Repeat(`</aside>`, 50)
	d, err := Parse(t.Context(), Source{Content: book(t, "", map[string]string{"a.html": references + nested}, "a.html")})
	if err != nil || len(d.Text) > 100_000 {
		t.Errorf("text of %d bytes, %v", len(d.Text), err)
	}
}

// For any page, the reader of chapters returns text.
func FuzzChapter(f *testing.F) {
	f.Add([]byte(`<p>a<a epub:type="noteref" href="#f">1</a></p><aside id="f">n<a epub:type="noteref" role="doc-backlink" href="#f">1</a></aside>`), "t")
	f.Add([]byte(`<table><tr><td><a role="doc-noteref" href="#f">1</a><math><mfrac><mn>1</mn></mfrac></math></td></tr></table><ol><li id="f">n</li></ol>`), "")
	f.Fuzz(func(t *testing.T, data []byte, title string) {
		p := &parser{format: EPUB, budget: newBudget(), src: Source{Content: book(t, "", map[string]string{"a.html": string(data)}, "a.html")}}
		from, err := p.openPack()
		if err != nil {
			t.Fatal(err)
		}
		p.doc.ContentType = markdownType
		if err := p.chapter(&bookNotes{from: from, pages: map[string]*notePage{}}, bookChapter{"OPS/a.html", title}); err != nil {
			if !isInvalid(err) {
				t.Errorf("error %v", err)
			}
			return
		}
		if d, err := p.finish(); err == nil {
			check(t, d)
		}
	})
}
