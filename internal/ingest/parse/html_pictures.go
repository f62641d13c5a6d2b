package parse

import (
	"encoding/base64"
	"hash/crc32"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markPictures marks the pictures of a page and their captions, those in the same element figure. open returns a picture at an address
// in the file; nil for a file that has none.
func (p *parser) markPictures(root *html.Node, open func(address string) drawn) {
	numbers := map[*html.Node][]int{} // by figure
	var captions []*html.Node
	for n := range root.Descendants() {
		switch n.DataAtom {
		case atom.Img:
			number := -1
			if !within(n, atom.Code, atom.Pre) {
				number = p.drawings.add(pictureOf(n, open))
			}
			if number < 0 {
				continue
			}
			setAttribute(n, "alt", figureMark(number, strings.Join(strings.Fields(attribute(n, "alt")), " ")))
			if f := figureAround(n); f != nil {
				numbers[f] = append(numbers[f], number)
			}
		case atom.Figcaption:
			captions = append(captions, n)
		}
	}
	for _, n := range captions {
		if f := figureAround(n); f != nil && len(numbers[f]) > 0 {
			in, before := firstText(n)
			in.InsertBefore(textNode(p.drawings.caption(numbers[f]...)), before)
		}
	}
}

// firstText returns where the text of a caption begins, which may be a paragraph in it: an element and a child of it.
func firstText(n *html.Node) (in, child *html.Node) {
	for child = n.FirstChild; child != nil; child = child.NextSibling {
		if child.DataAtom == atom.P || child.DataAtom == atom.Div {
			return firstText(child)
		}
		if child.Type == html.ElementNode || child.Type == html.TextNode && strings.TrimSpace(child.Data) != "" {
			break
		}
	}
	return n, child
}

// figureAround returns the innermost element figure around a node, nil if there is none.
func figureAround(n *html.Node) *html.Node {
	for n = n.Parent; n != nil; n = n.Parent {
		if n.DataAtom == atom.Figure {
			return n
		}
	}
	return nil
}

func setAttribute(n *html.Node, key, value string) {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			n.Attr[i].Val = value
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: key, Val: value})
}

// pictureOf returns the picture of an element img.
func pictureOf(n *html.Node, open func(address string) drawn) drawn {
	source := strings.TrimSpace(attribute(n, "src"))
	if data, ok := strings.CutPrefix(source, "data:"); ok {
		return dataPicture(data)
	}
	const perPixel = 0.75 // points of a pixel of CSS
	shown := [2]float64{perPixel * float64(number(attribute(n, "width"))), perPixel * float64(number(attribute(n, "height")))}
	if open != nil && source != "" && !strings.Contains(before(source, "/"), ":") {
		found := open(source)
		found.shown = shown
		return found
	}
	return drawn{key: source, beyond: true, width: number(attribute(n, "width")), height: number(attribute(n, "height"))}
}

// dataPicture returns the picture in an address data: without its scheme.
func dataPicture(data string) drawn {
	kind, content, ok := strings.Cut(data, ",")
	d := drawn{key: strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(data))), 16) + "-" + strconv.Itoa(len(data))}
	if !ok {
		return d
	}
	content = content[:min(len(content), maxPictureHead)]
	if !strings.HasSuffix(strings.TrimSpace(kind), ";base64") {
		if text, err := url.PathUnescape(content); err == nil {
			d.sized([]byte(text))
		}
		return d
	}
	content = strings.TrimRight(strings.Join(strings.Fields(content), ""), "=")
	const group = 4 // characters of base64 that stand for three bytes
	head, _ := base64.RawStdEncoding.DecodeString(content[:len(content)-len(content)%group])
	d.sized(head)
	return d
}
