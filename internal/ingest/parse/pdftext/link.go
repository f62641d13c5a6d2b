package pdftext

import (
	"cmp"
	"slices"
	"strings"

	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// Bounds of the links that are kept.
const (
	maxAddress = 2048   // bytes
	maxLinks   = 10_000 // of a file that are looked at
)

// anchor is the part text[from:to] of a line that is a link.
type anchor struct {
	from, to int
	address  string
	goesOn   bool // in the next line
	went     bool // on from the line before
}

// linkArea is the area of a link, in points from the lower left corner of the page.
type linkArea struct {
	address                  string
	left, right, bottom, top float64
}

// link sets the links of the lines of a page that lead to the web or to an email address.
func (p *pageReader) link(page requests.Page, lines []line) {
	areas := p.linkAreas(page)
	if len(areas) == 0 {
		return
	}
	for i := range lines {
		l := &lines[i]
		if slices.ContainsFunc(p.chars[l.start:l.last+1], isRightToLeft) {
			continue // its text is not its characters in order
		}
		for _, b := range areas {
			p.anchor(l, b)
		}
	}
	joinLinks(lines)
}

// linkAreas returns the areas of the links of a page.
func (p *pageReader) linkAreas(page requests.Page) (found []linkArea) {
	for next := 0; p.linked < maxLinks; p.linked++ {
		link, err := p.FPDFLink_Enumerate(&requests.FPDFLink_Enumerate{Page: page, StartPos: next})
		if err != nil || link.Link == nil || link.NextStartPos == nil || *link.NextStartPos <= next {
			break
		}
		next = *link.NextStartPos
		address := p.address(*link.Link)
		if !isAddress(address) {
			continue
		}
		area, err := p.FPDFLink_GetAnnotRect(&requests.FPDFLink_GetAnnotRect{Link: *link.Link})
		if err != nil || area.Rect == nil {
			continue
		}
		r := *area.Rect
		found = append(found, linkArea{
			address, float64(min(r.Left, r.Right)), float64(max(r.Left, r.Right)),
			float64(min(r.Bottom, r.Top)), float64(max(r.Bottom, r.Top)),
		})
	}
	return found
}

// address returns where a link leads, "" if that is not a URI.
func (p *pageReader) address(link references.FPDF_LINK) string {
	action, err := p.FPDFLink_GetAction(&requests.FPDFLink_GetAction{Link: link})
	if err != nil || action.Action == nil {
		return ""
	}
	found, err := p.FPDFAction_GetURIPath(&requests.FPDFAction_GetURIPath{Document: p.file, Action: *action.Action})
	if err != nil || found.URIPath == nil {
		return ""
	}
	return *found.URIPath
}

// isAddress reports whether a link to the address is kept: to the web or by email, and fit for Markdown.
func isAddress(address string) bool {
	scheme, _, _ := strings.Cut(address, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
		return len(address) <= maxAddress && clean(address) == address && !strings.ContainsAny(address, " <>()")
	}
	return false
}

// anchor adds the part of a line that lies within the area of a link.
func (p *pageReader) anchor(l *line, b linkArea) {
	const slack = 1 // points
	if l.angle == 0 && (l.across < b.bottom-slack || l.across > b.top+slack || l.end < b.left || l.along > b.right) {
		return
	}
	p.sin, p.cos = 0, 1
	first, last := -1, -1
	for i := l.start; i <= l.last; i++ {
		if !p.visible(i) {
			continue
		}
		if x, y := p.origin(i); x > b.left-slack && x < b.right-slack/2 && y > b.bottom-slack && y < b.top-b.over(l.size) {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return
	}
	if from, to, ok := l.bytes(p.chars, first, last+1); ok {
		l.links = append(l.links, anchor{from: from, to: to, address: b.address})
	}
}

// bytes returns where the characters of the page from first up to end stand in the text of the line.
func (l *line) bytes(chars []rune, first, end int) (from, to int, ok bool) {
	before, text := clean(string(chars[l.start:first])+"x"), clean(string(chars[first:end]))
	from = len(before) - 1
	to = from + len(text)
	return from, to, to <= len(l.text) && text != "" && l.text[from:to] == text
}

// over returns the least height of the area of a link above a baseline in it, for a font size. Some
// areas are as high as the distance of the lines, so that they touch the one above.
func (b linkArea) over(size float64) float64 { return min(size, b.top-b.bottom) * 0.3 }

// joinLinks puts the links of each line in order, joins those that go on in the next line, and drops
// those whose text is their address.
func joinLinks(lines []line) {
	for i := range lines {
		l := &lines[i]
		slices.SortStableFunc(l.links, func(a, b anchor) int { return cmp.Compare(a.from, b.from) })
		end := 0
		l.links = slices.DeleteFunc(l.links, func(a anchor) bool { // overlapping
			drop := a.from < end
			end = max(end, a.to)
			return drop
		})
	}
	for i := 0; i < len(lines); i++ {
		for k := 0; k < len(lines[i].links); k++ {
			joinLink(lines[i:], k)
		}
	}
	for i := range lines {
		lines[i].links = slices.DeleteFunc(lines[i].links, func(a anchor) bool { return a.address == "" })
	}
}

// joinLink joins the link k of the first of the lines, unless it went on from the line before.
func joinLink(lines []line, k int) {
	first := &lines[0].links[k]
	if first.went || first.address == "" {
		return
	}
	parts, text := []*anchor{first}, lines[0].text[first.from:first.to]
	for i := 0; i+1 < len(lines); i++ {
		l, next := &lines[i], &lines[i+1]
		tail := parts[len(parts)-1]
		if tail.to < len(l.text) || len(next.links) == 0 || next.links[0].from > 0 || next.links[0].address != first.address ||
			l.cells != nil || next.cells != nil || bulletOf(next.text) > 0 || next.across >= l.across || l.across-next.across > 2*l.size || !sameSize(*l, *next) {
			break
		}
		head := &next.links[0]
		text = strings.TrimSuffix(text, "-") + next.text[head.from:head.to]
		tail.goesOn, head.went = true, true
		parts = append(parts, head)
	}
	if says(text, first.address) {
		for _, part := range parts {
			part.address = ""
		}
	}
}

// says reports whether the text of a link is its address.
func says(text, address string) bool {
	bare := func(s string) string {
		if _, after, ok := strings.Cut(s, "://"); ok {
			s = after
		}
		s = strings.TrimPrefix(strings.ToLower(s), "mailto:")
		return strings.Trim(strings.NewReplacer(" ", "", "-", "").Replace(s), "/<>()[].,;")
	}
	return bare(text) == bare(address)
}
