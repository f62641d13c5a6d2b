package parse

import (
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// address returns a picture of a size as an address data:, each time another one.
func address(t *testing.T, width, height int, shade uint8) string {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, width, height))
	picture.Pix[0] = shade
	var out strings.Builder
	if err := png.Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(out.String()))
}

func TestPicturesOfPagesHaveCaptions(t *testing.T) {
	t.Parallel()
	one, two, small := address(t, 80, 64, 1), address(t, 80, 64, 2), address(t, 63, 80, 3)
	const text = "<p>The eel traps are emptied on Monday.</p>"
	img := func(source string) string { return `<p><img src="` + source + `"></p>` }
	for _, tc := range []struct {
		name, body string
		want       []string
	}{
		{"below", img(one) + "<p>Fig. 1: Traps</p>" + img(two) + "<p>Fig. 2: Nets</p>" + text, []string{"Fig. 1: Traps", "Fig. 2: Nets"}},
		{"above", "<p>Fig. 1: Traps</p>" + img(one) + "<p>Fig. 2: Nets</p>" + img(two) + text, []string{"Fig. 1: Traps", "Fig. 2: Nets"}},
		{"two with one", img(one) + img(two) + "<p>Fig. 1: Both</p>", []string{"Fig. 1: Both"}},
		{"a sentence about it", text + img(one) + "<p>Figure 1 shows the traps.</p>", nil},
		{"text between", img(one) + text + "<p>Figure 1: Traps</p>", nil},
		{"of a table", text + img(one) + "<p>Table 1: Traps</p>", nil},
		{"alternative text", text + `<img src="` + one + `" alt="Traps in the mud">`, []string{"Traps in the mud"}},
		{"made by a program", text + `<img src="` + one + `" alt="A picture containing text">`, nil},
		{"a number as alternative text", text + `<img src="` + one + `" alt="Figure 3">`, nil},
		{"elsewhere, described", text + `<img src="https://example.com/a.png" alt="Traps in the mud">`, nil},
		{"elsewhere, with a caption", text + `<figure><img src="/a.png"><figcaption>Traps in the mud</figcaption></figure>`, []string{"Traps in the mud"}},
		{"small", text + `<figure><img src="` + small + `"><figcaption>Traps in the mud</figcaption></figure>`, nil},
		{"three times", text + strings.Repeat(`<p><img src="`+one+`" alt="Crest of the guild"></p>`+text, 3), nil},
		{"twice", text + `<img src="` + one + `" alt="Crest of the guild">` + text + `<img src="` + one + `" alt="Crest of the guild">`, []string{"Crest of the guild", "Crest of the guild"}},
		{"caption of a listing", "<figure><pre>a</pre><figcaption>Figure 1: Code</figcaption></figure>" + text, nil},
		{"in a link", text + `<figure><a href="https://example.com/big"><img src="` + one + `" alt="x"></a><figcaption>Traps <a href="https://example.com/">at low water</a></figcaption></figure>`, []string{"Traps [at low water](https://example.com/)"}},
		{"cells", "<table><tr><th><img src=" + one + "></th><th><img src=" + two + "></th></tr><tr><td>Fig. 1: Traps</td><td>Fig. 2: Nets</td></tr></table>", []string{"Fig. 1: Traps", "Fig. 2: Nets"}},
		{"marks in the text", "<p>\uFDD30\uFDD4Not a picture\uFDD5 \uFDD60,\uFDD7</p>" + text, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, err := Parse(t.Context(), Source{Content: []byte("<!doctype html><html><body>" + tc.body + "</body></html>"), FileName: "a.html"})
			if err != nil {
				t.Fatal(err)
			}
			check(t, d)
			var got []string
			for _, f := range d.Figures {
				got = append(got, d.Text[f.Start:f.End])
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s\nin %q", diff, d.Text)
			}
			if strings.ContainsAny(d.Text, figureBegin+figureAlt+figureEnd+captionBegin+captionEnd) {
				t.Errorf("marks are left in %q", d.Text)
			}
		})
	}
}

func TestFiguresAreLimited(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	for n := range MaxFigures + 10 {
		fmt.Fprintf(&page, "<figure><img src=/%d.png><figcaption>Plate of species %d</figcaption></figure>", n, n)
	}
	d, err := Parse(t.Context(), Source{Content: []byte("<!doctype html><html><body>" + page.String() + "</body></html>"), FileName: "a.html"})
	if err != nil || len(d.Figures) != MaxFigures || strings.Contains(d.Text, figureBegin) {
		t.Errorf("%d figures, %v", len(d.Figures), err)
	}
	check(t, d)
}

func TestFiguresOfAttachmentsAreThoseOfTheMessage(t *testing.T) {
	t.Parallel()
	message := "From: a@example.com\r\nSubject: Traps\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nSee the page.\r\n" +
		"--b\r\nContent-Type: text/html; name=traps.html\r\nContent-Disposition: attachment; filename=traps.html\r\n\r\n" +
		"<p>The traps.</p><figure><img src=/a.png><figcaption>Traps in the mud</figcaption></figure>\r\n--b--\r\n"
	d, err := Parse(t.Context(), Source{Content: []byte(message), FileName: "a.eml"})
	if err != nil || len(d.Figures) != 1 || d.Text[d.Figures[0].Start:d.Figures[0].End] != "Traps in the mud" {
		t.Errorf("%+v in %q, %v", d.Figures, d.Text, err)
	}
}

// A page whose pictures are all in one long paragraph takes as long as any.
func TestManyPicturesInAParagraphAreReadInTime(t *testing.T) {
	t.Parallel()
	picture := `<img src="` + address(t, 80, 64, 1) + `" alt=""> `
	long := strings.Repeat("The eel traps are emptied on Monday. ", 60_000)
	for _, body := range []string{
		"<p>" + long + strings.Repeat(picture, MaxFigures) + long + "</p>",
		"<p>" + strings.Repeat(picture+"The eel traps are emptied on Monday. ", MaxFigures) + long + "</p>",
		"<figure>" + strings.Repeat(picture, MaxFigures) + "<figcaption>Traps in the mud</figcaption></figure>",
	} {
		d, err := Parse(t.Context(), Source{Content: []byte("<!doctype html><html><body>" + body + "</body></html>"), FileName: "a.html"})
		if err != nil && !isInvalid(err) || strings.ContainsAny(d.Text, figureBegin+figureEnd+captionBegin+captionEnd) {
			t.Errorf("%v, %d bytes", err, len(d.Text))
		}
	}
}
