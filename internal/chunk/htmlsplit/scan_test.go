package htmlsplit

import (
	"bytes"
	"html"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	xhtml "golang.org/x/net/html"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// markup has the fragments of random HTML.
var markup = []string{
	"<h1>", "</h1>", "<h2>", "</h2>", "<H3 class=x>", "</h3>", "<p>", "</p>", "<div>", "</div>", "<section>", "</section>", "<b>", "</b>", "<li>", "<td>", "<tr>",
	"<br>", "<hr/>", "<img src='a>b'>", `<a href="x">`, "</a>", "<pre>", "</pre>", "<title>", "</title>", "<textarea>", "</textarea>",
	"<script>", "</script>", "<style>", "</style >", "<!--", "-->", "--!>", "<!-->", "<!doctype html>", "<![CDATA[", "]]>", "<?x?>", "</>", "</ x>", "<", ">", "\"", "'", "=", "/",
	"text", "more words", " ", "\n", "\t  \n", "&amp;", "&lt", "&eacute;", "&nbsp;", "&#x2014;", "&", "&#0;", "日本語", "e\u0301", "👩🏽‍🔧", "\u00a0", "\x00",
	"<plaintext>", "<svg><path/></svg>", "<x-y>", "<noscript>", "</noscript>", "<p a=b c = 'd' e=\"f\" / g>", "<a/b>", "<DIV ID=i>",
}

func randomMarkup(r *rand.Rand, n int) string {
	var sb strings.Builder
	for range n {
		sb.WriteString(markup[r.IntN(len(markup))])
	}
	return sb.String()
}

// endAll ends every construct that can be open. It hides the intended differences from
// a browser in broken documents.
const endAll = ` <p a="" b=''>--></script></script></style></title></textarea></xmp></iframe></noembed></noframes></noscript><p>`

var selfClosedRaw = regexp.MustCompile(`(?i)<(script|style|title|textarea|xmp|iframe|noembed|noframes|noscript|plaintext)[^>]*/[^>]*>`)

// scriptComment matches what x/net/html does not read as the standard says: in a
// comment in a script, a "<" that does not begin a tag ends the comment there.
var scriptComment = regexp.MustCompile(`(?is)<script.*<!--.*<[^/a-z]`)

// checkScanner compares the scanner's tokens with those of x/net/html.
func checkScanner(t *testing.T, text string) {
	t.Helper()
	text += endAll
	if selfClosedRaw.MatchString(text) || scriptComment.MatchString(text) {
		return
	}
	var want, got []string
	z := xhtml.NewTokenizer(strings.NewReader(text))
	hidden, attributes := false, !strings.ContainsAny(text, "&\r") // x/net/html decodes these
	for z.Next() != xhtml.ErrorToken {
		raw := bytes.Clone(z.Raw()) // before Token, which changes it
		switch token := z.Token(); token.Type {
		case xhtml.TextToken:
			if !hidden {
				want = append(want, string(raw))
			}
			hidden = false
		case xhtml.StartTagToken, xhtml.SelfClosingTagToken:
			tag := "<" + token.Data + ">"
			if attributes {
				tag += attribute(token, "id") + attribute(token, "class")
			}
			want = append(want, tag)
			hidden = traits[token.Data].is(hiddenTag)
		case xhtml.EndTagToken:
			want = append(want, "</"+token.Data+">")
			hidden = false
		}
	}
	s := scanner{text: text, names: newTagNames()}
	for s.next(); s.kind != endOfText; s.next() {
		switch s.kind {
		case startToken:
			tag := "<" + s.name.text + ">"
			if attributes {
				tag += s.id + s.class
			}
			got = append(got, strings.ReplaceAll(tag, "\x00", "\ufffd"))
		case endToken:
			got = append(got, "</"+strings.ReplaceAll(s.name.text, "\x00", "\ufffd")+">")
		default:
			got = append(got, text[s.start:s.end])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tokens of %q (-x/net +ours):\n%s", text, diff)
	}
}

func attribute(token xhtml.Token, key string) string {
	for _, a := range token.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func TestScannerAgreesWithXNet(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for i := 0; i < 20000 && !t.Failed(); i++ {
		checkScanner(t, randomMarkup(r, r.IntN(12)))
	}
}

// visible returns the text of HTML that begins and ends outside of markup, without
// white space.
func visible(text string) string {
	var sb strings.Builder
	s := scanner{text: text, names: newTagNames()}
	for s.next(); s.kind != endOfText; s.next() {
		switch s.kind {
		case textToken:
			sb.WriteString(html.UnescapeString(text[s.start:s.end]))
		case rawToken:
			sb.WriteString(text[s.start:s.end])
		}
	}
	return WithoutSpace(sb.String())
}

// FuzzScanner compares the scanner with the tokenizer of x/net/html.
func FuzzScanner(f *testing.F) {
	for _, m := range markup {
		f.Add(m + "x")
	}
	f.Add("<script><!--<script></script>x--></script><title>&lt;</title><a b='c>d' e=\"f\">")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) <= 4000 && utf8.ValidString(text) {
			checkScanner(t, text)
		}
	})
}

// WithoutSpace returns a text without its white space.
func WithoutSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if textspan.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// Exported for the tests of the whole strategy, which import package chunk.
var (
	RandomMarkup = randomMarkup
	Visible      = visible
)
