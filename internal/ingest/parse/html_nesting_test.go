package parse

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// nested returns text in so many elements, opened and closed.
func nested(name string, levels int, text string) string {
	return strings.Repeat("<"+name+">", levels) + text + strings.Repeat("</"+name+">", levels)
}

func TestPagesNestedDeepAreRead(t *testing.T) {
	t.Parallel()
	const content = "<h2>Fees</h2><p>Ten <b>pounds</b>.</p><ul><li>North</li><li>South</li></ul><table><tr><th>Berth</th><th>Fee</th></tr><tr><td>1</td><td>30</td></tr></table>"
	const want = "## Fees\n\nTen pounds.\n\n- North\n- South\n\n| Berth | Fee |\n|-------|-----|\n| 1     | 30  |"
	for _, name := range []string{"div", "span", "b", "section"} {
		for _, levels := range []int{600, 5_000, 200_000} {
			t.Run(fmt.Sprintf("%d %s", levels, name), func(t *testing.T) {
				t.Parallel()
				page := "<!DOCTYPE html><html><head><title>Tides</title></head><body><p>Before</p>" + nested(name, levels, content) + "<p>After</p></body></html>"
				d, err := Parse(t.Context(), Source{Content: []byte(page)})
				if err != nil || d.Text != "Before\n\n"+want+"\n\nAfter" || d.Title != "Tides" {
					t.Errorf("%q %.300q, %v", d.Title, d.Text, err)
				}
			})
		}
	}
	for _, levels := range []int{600, 5_000, 200_000} {
		t.Run(fmt.Sprintf("%d tables", levels), func(t *testing.T) {
			t.Parallel()
			page := "<!DOCTYPE html><p>Before</p>" + strings.Repeat("<table><tr><td>", levels) + "one<td>two<tr><td>three" + strings.Repeat("</table>", levels) + "<p>After</p>"
			d, err := Parse(t.Context(), Source{Content: []byte(page)})
			if words := strings.Fields(strings.NewReplacer("|", " ", "-", " ", ";", " ", ",", " ").Replace(d.Text)); err != nil || strings.Join(words, " ") != "Before one two three After" {
				t.Errorf("%.300q, %v", d.Text, err)
			}
		})
	}
}

// Pages nested deep whose tags do not match, and that hide something, are read as a browser shows them.
func TestTextOfPagesNestedDeep(t *testing.T) {
	t.Parallel()
	const deep = 700
	for _, tc := range []struct{ name, page, want string }{
		{"tags without an end", strings.Repeat("<div>", deep) + "<p>a<p>b<h2>c</h2>d", "a\n\nb\n\n## c\n\nd"},
		{"hidden", nested("div", deep, `a<div hidden>b<span>c</span></div><div style="display: none">d</div>e`), "a\n\ne"},
		{"scripts", nested("div", deep, `a<script>b < "</div>"</script><style>c</style>d<noscript>e</noscript>`), "ad"},
		{"scripts within many elements", nested("section", deep, nested("ul", deep, `<li>a<script>b</script><textarea>c</textarea><svg><path/><text>d</text></svg> e</li>`)), "a e"},
		{"ends without a start", nested("div", deep, "a</b></table></p>b</i>"), "ab"},
		{"formatting that is not closed", func() string {
			var out strings.Builder
			for i := range deep {
				fmt.Fprintf(&out, "<p><font size=%d>x%d", i, i)
			}
			return out.String()
		}(), func() string {
			var out []string
			for i := range deep {
				out = append(out, fmt.Sprintf("x%d", i))
			}
			return strings.Join(out, "\n\n")
		}()},
		{"items without an end", nested("div", deep, "<ul>"+strings.Repeat("<li>x", deep)+"</ul>"), strings.TrimSuffix(strings.Repeat("- x\n", deep), "\n")},
	} {
		d, err := Parse(t.Context(), Source{Content: []byte("<!DOCTYPE html><body>" + tc.page)})
		if text := strings.TrimLeft(d.Text, "- "); err != nil || text != strings.TrimLeft(tc.want, "- ") {
			t.Errorf("%s: %.300q, %v", tc.name, d.Text, err)
		}
	}
	with, err := Parse(t.Context(), Source{Content: []byte("<!DOCTYPE html>" + nested("div", deep, "a<div hidden>b</div>")), Hidden: true})
	if err != nil || !strings.Contains(with.Text, "b") {
		t.Errorf("with what is hidden: %q, %v", with.Text, err)
	}
}

// Whatever reads HTML reads it nested deep: emails and books.
func TestNestedPagesOfEmailsAndBooks(t *testing.T) {
	t.Parallel()
	const deep = 5_000
	page := nested("div", deep, "<p>The gate opens at seven.</p>")
	mail := "From: a@example.com\r\nSubject: Gate\r\nMIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<html><body>" + page + "</body></html>\r\n"
	d, err := Parse(t.Context(), Source{Content: []byte(mail), FileName: "a.eml"})
	if err != nil || !strings.Contains(d.Text, "The gate opens at seven.") {
		t.Errorf("an email: %q, %v", d.Text, err)
	}
	var book bytes.Buffer
	z := zip.NewWriter(&book)
	for _, part := range [][2]string{
		{"mimetype", "application/epub+zip"},
		{"META-INF/container.xml", `<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>`},
		{"b.opf", `<package><metadata/><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>`},
		{"a.xhtml", `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>` + page + `</body></html>`},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: part[0], Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, part[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	d, err = Parse(t.Context(), Source{Content: book.Bytes(), FileName: "a.epub"})
	if err != nil || d.Text != "The gate opens at seven." {
		t.Errorf("a book: %q, %v", d.Text, err)
	}
}
