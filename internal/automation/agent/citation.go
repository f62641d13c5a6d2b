package agent

import (
	"regexp"
	"strconv"
	"strings"
)

// Citation is a passage that an answer cites.
type Citation struct {
	Number     int    `json:"number"` // as in the answer: [1]
	URI        string `json:"uri,omitempty"`
	DocumentID string `json:"documentId,omitempty"`
	Title      string `json:"title,omitempty"`
	// StartByte and EndByte are the byte range of the passage in the document's text, end exclusive.
	StartByte uint32 `json:"startByte"`
	EndByte   uint32 `json:"endByte"`
	Text      string `json:"text"`
}

// marker matches the markers of citations, such as [1] and [2, 3].
var marker = regexp.MustCompile(`\[\d{1,5}(?:\s?,\s?\d{1,5}){0,15}\]`)

// openMarker matches a text that ends within what may become a marker.
var openMarker = regexp.MustCompile(`\[[\d,\s]{0,160}$`)

// quotation matches a quotation that ends before a marker.
var quotation = regexp.MustCompile(`(?s)(?:"([^"]+)"|“([^”]+)”|«([^»]+)»)[\s.,;:[(]*$`)

// WithoutMarkers returns an answer without the numbers of its citations.
func WithoutMarkers(text string) string { return marker.ReplaceAllString(text, "") }

// Marker is a marker of citations in an answer: bytes Start to End, end exclusive.
type Marker struct {
	Start, End int
	Numbers    []int
}

// Markers returns the markers in an answer, in their order.
func Markers(text string) (found []Marker) {
	for _, at := range marker.FindAllStringIndex(text, -1) {
		m := Marker{Start: at[0], End: at[1]}
		for number := range strings.SplitSeq(text[at[0]+1:at[1]-1], ",") {
			if n, err := strconv.Atoi(strings.TrimSpace(number)); err == nil {
				m.Numbers = append(m.Numbers, n)
			}
		}
		found = append(found, m)
	}
	return found
}

const (
	// maxMarkers is how many markers of an answer are checked; further ones are removed.
	maxMarkers = 1000
	// maxMarkerBytes is longer than any marker.
	maxMarkerBytes = 160
	// maxQuoteBytes bounds how far back a quotation before a marker is looked for.
	maxQuoteBytes = 4 << 10
	// minQuoteWords is from how many words on a text in quotation marks is a quotation.
	minQuoteWords = 3
)

// citer checks the markers of an answer while it arrives. A number is removed if it belongs to no
// passage, or if the quotation before it does not stand in its passage.
type citer struct {
	passages []Citation
	pending  string // received and not yet passed on
	text     strings.Builder
	plain    map[int]string // passages as plain returns them, by number
	cited    map[int]bool
	markers  int
	removed  int
}

// add receives a piece of the answer and returns what of it has been checked.
func (c *citer) add(piece string) string {
	c.pending += piece
	open := strings.LastIndexByte(c.pending, '[')
	if open < 0 || strings.Contains(c.pending[open:], "]") || len(c.pending)-open > maxMarkerBytes {
		open = len(c.pending)
	}
	// White space before a marker is removed with it.
	for open > 0 && open < len(c.pending) && c.pending[open-1] == ' ' {
		open--
	}
	if open == len(c.pending) {
		open = len(strings.TrimRight(c.pending, " "))
	}
	ready := c.pending[:open]
	c.pending = c.pending[open:]
	return c.checked(ready)
}

// end returns what is left.
func (c *citer) end() string {
	ready := c.pending
	c.pending = ""
	return c.checked(ready)
}

// checked removes the markers of a text that do not hold.
func (c *citer) checked(text string) string {
	var out strings.Builder
	write := func(s string) {
		out.WriteString(s)
		c.text.WriteString(s)
	}
	at := 0
	for _, found := range marker.FindAllStringIndex(text, -1) {
		before := text[at:found[0]]
		kept := c.keep(text[found[0]:found[1]], c.before(before))
		if kept == "" {
			before = strings.TrimRight(before, " ")
			if openMarker.MatchString(c.before(before)) {
				kept = "[?]" // what is around it would become a marker
			}
		}
		write(before)
		write(kept)
		at = found[1]
	}
	write(text[at:])
	return out.String()
}

// before returns the end of the answer so far with further text.
func (c *citer) before(text string) string {
	if len(text) >= maxQuoteBytes {
		return text[len(text)-maxQuoteBytes:]
	}
	said := c.text.String()
	return said[max(0, len(said)+len(text)-maxQuoteBytes):] + text
}

// keep returns a marker with the numbers that hold, or "".
func (c *citer) keep(marker, before string) string {
	if c.markers++; c.markers > maxMarkers {
		c.removed++
		return ""
	}
	quote := quoted(before)
	var kept []string
	for number := range strings.SplitSeq(strings.Trim(marker, "[]"), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil || n < 1 || n > len(c.passages) || quote != "" && !strings.Contains(c.passage(n), quote) {
			c.removed++
			continue
		}
		if c.cited == nil {
			c.cited = map[int]bool{}
		}
		c.cited[n] = true
		kept = append(kept, strconv.Itoa(n))
	}
	if kept == nil {
		return ""
	}
	return "[" + strings.Join(kept, ", ") + "]"
}

// passage returns a passage as plain does.
func (c *citer) passage(number int) string {
	text, ok := c.plain[number]
	if !ok {
		if c.plain == nil {
			c.plain = map[int]string{}
		}
		text = plain(c.passages[number-1].Text)
		c.plain[number] = text
	}
	return text
}

// quoted returns the quotation at the end of a text as plain returns it, or "".
func quoted(text string) string {
	found := quotation.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	quote := plain(found[1] + found[2] + found[3])
	if len(strings.Fields(quote)) < minQuoteWords {
		return "" // a name or a term
	}
	return quote
}

// plain returns a text in lower case with single spaces, without quotation marks and without a
// mark at its end, which a quotation may leave out.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		switch r {
		case '"', '“', '”', '«', '»':
			return -1
		case '’', '‘':
			return '\''
		}
		return r
	}, strings.ToLower(text))
	return strings.TrimRight(strings.Join(strings.Fields(text), " "), ".,;:…")
}

// citations returns the passages that the answer cites, in the order of their numbers.
func (c *citer) citations() []Citation {
	found := []Citation{}
	for _, p := range c.passages {
		if c.cited[p.Number] {
			found = append(found, p)
		}
	}
	return found
}
