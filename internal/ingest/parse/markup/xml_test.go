package markup

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// same fails the test unless a source is read as a text.
func same(t *testing.T, name string, got Text, title, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.Trim(want, "\n"), got.Markdown); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
	if got.Title != title {
		t.Errorf("%s: the title is %q, want %q", name, got.Title, title)
	}
}

func TestXML(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, source, title, want string }{
		{"records", `<?xml version="1.0"?>
<!DOCTYPE books [<!ENTITY x "expanded">]>
<books xmlns:y="u"><name>Shelf &amp; more</name>
<book id="1"><title>Tides</title><author><name>Rosa</name></author><author><name>Jonas</name></author></book>
<!-- nothing -->
<book id="2"><title>High <b>water</b> &x; caf&eacute;</title><y:text><![CDATA[a < b]]></y:text></book></books>`, "", `
name: Shelf & more

book > id: 1
book > title: Tides
book > author > name: Rosa
book > author > name: Jonas

book > id: 2
book > title: High water &x; café
book > text: a < b`},
		{"a feed", `<rss version="2.0"><channel><title>News</title><item><title>A</title><link>https://example.org/a</link></item><item><title>B</title><link>u</link></item></channel></rss>`, "", `
version: 2.0

channel > title: News

channel > item > title: A
channel > item > link: https://example.org/a

channel > item > title: B
channel > item > link: u`},
		{"records of attributes", `<rows><row id="1" fee="30"/><row id="2" fee="20"/></rows>`, "", `
row > id: 1
row > fee: 30

row > id: 2
row > fee: 20`},
		{"one value", `<a>x</a>`, "", `a: x`},
		{"DocBook", `<book><bookinfo><title>Harbour</title><author><firstname>R</firstname></author></bookinfo>
<chapter><title>Fees</title><para>See <ulink url="https://example.org/">the list</ulink> of
  <literal>fees</literal>.</para>
<note><para>Pay first.</para></note>
<itemizedlist><listitem><para>North</para></listitem><listitem><para>South</para></listitem></itemizedlist>
<variablelist><varlistentry><term>-v</term><listitem><para>Says more.</para></listitem></varlistentry></variablelist>
<programlisting language="c">int a;
  int b;</programlisting>
<table><title>All</title><tgroup cols="2"><thead><row><entry>Berth</entry><entry>Fee</entry></row></thead><tbody><row><entry>N</entry><entry>30</entry></row></tbody></tgroup></table>
<sect1><title>Late</title><para>Twice.</para></sect1></chapter></book>`, "Harbour", `
# Harbour

## Fees

See [the list](https://example.org/) of fees.

**Note:** Pay first.

- North
- South

- **-v:** Says more.

` + "```c\nint a;\n  int b;\n```" + `

All

| Berth | Fee |
| --- | --- |
| N | 30 |

### Late

Twice.`},
	} {
		got, err := XML(tc.source)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		same(t, tc.name, got, tc.title, tc.want)
	}
	if _, err := XML(strings.Repeat("<a>", MaxXMLDepth+2)); !errors.Is(err, ErrXMLDepth) {
		t.Errorf("too deep: %v", err)
	}
	if _, err := XML("no markup"); !errors.Is(err, ErrXMLSyntax) {
		t.Errorf("text: %v", err)
	}
}

func TestXMLIsLinear(t *testing.T) {
	t.Parallel()
	read := func(source string) Text {
		text, _ := XML(source) // what is refused takes its time as well
		return text
	}
	for _, unit := range []string{"<a>", "<a/>", "<a>b</a>", "</a>", "x<!-- -->", "<a b='c'><d/></a>", "<a><b>c</b><b>d</b></a>", "&", "<!"} {
		linear(t, "XML", read, unit)
		linear(t, "XML", func(source string) Text { return read("<r>" + source) }, unit)
		linear(t, "DocBook", func(source string) Text { return read("<book><note>" + source) }, unit)
	}
}

func FuzzXML(f *testing.F) {
	f.Add("<a b='c'><d>e</d><d>f<g/></d></a>")
	f.Add("<book><title>T</title><para>x<note><para>y</para></note></para></book>")
	f.Fuzz(func(t *testing.T, source string) {
		if text, err := XML(source); err == nil {
			valid(t, source, text)
		}
	})
}
