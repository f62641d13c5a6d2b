package parse

import (
	"context"
	"encoding/xml"
	"strconv"
	"strings"
)

// pptx reads a presentation: each slide's title as a heading, its text, tables, SmartArt,
// charts and descriptions of pictures, then the speaker's notes and the comments, in the
// order of the presentation. Hidden slides are left out; the property hiddenSlides names them.
// A slide or notes that are named again are not read again.
func (p *parser) pptx(ctx context.Context) error {
	from, err := p.openPack()
	if err != nil {
		return err
	}
	if err := p.describeOffice(from); err != nil {
		return err
	}
	slides, err := slideParts(from)
	if err != nil {
		return err
	}
	var hidden []string
	for i, name := range slides {
		if err := ctx.Err(); err != nil {
			return err
		}
		if from.repeated(name) {
			continue
		}
		err := p.text.span(Span{Kind: Slide, Number: i + 1}, func() error {
			shown, err := p.slide(from, name)
			if !shown {
				hidden = append(hidden, strconv.Itoa(i+1))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	p.property("hiddenSlides", strings.Join(hidden, ", "))
	return nil
}

// slideParts returns the part names of the slides in the order of the presentation.
func slideParts(from *pack) ([]string, error) {
	show, err := from.mainPart("ppt/presentation.xml")
	if err != nil {
		return nil, err
	}
	data, err := from.part(show)
	if err != nil {
		return nil, err
	}
	presentation, err := tree(data)
	if err != nil {
		return nil, broken(from.format, err)
	}
	relations, err := from.relations(show)
	if err != nil {
		return nil, err
	}
	var slides []string
	presentation.all("sldId", func(n *node) {
		for _, a := range n.attrs {
			if a.Name.Local == "id" && a.Name.Space != "" { // r:id, not the slide's own number
				slides = append(slides, relations[a.Value].target)
			}
		}
	})
	return slides, nil
}

// slide reads a slide, its notes and its comments. It reports whether the slide is shown.
func (p *parser) slide(from *pack, name string) (shown bool, err error) {
	data, err := from.part(name)
	if err != nil {
		return true, err
	}
	relations, err := from.relations(name)
	if err != nil {
		return true, err
	}
	out := flow{out: &p.text}
	s := &slideReader{from: from, relations: relations, shown: true}
	if err := s.read(data); err != nil || !s.shown && !p.src.Hidden {
		return s.shown, err
	}
	s.placeCaptions()
	for _, b := range append(s.titles, s.blocks...) {
		out.paragraph(b)
	}
	for _, part := range ofKind(relations, "notesSlide") {
		if from.repeated(part) {
			continue
		}
		data, err := from.optional(part)
		if err != nil || data == nil {
			return s.shown, err
		}
		notes := &slideReader{from: from, notes: true}
		if err := notes.read(data); err != nil {
			return s.shown, err
		}
		for i, b := range notes.blocks {
			if i == 0 && b.table == nil {
				b.text = "Notes: " + b.text
			}
			out.paragraph(b)
		}
	}
	return s.shown, p.slideComments(from, relations, &out)
}

// slideComments writes the comments on a slide.
func (p *parser) slideComments(from *pack, relations map[string]relation, out *flow) error {
	for _, part := range ofKind(relations, "comments") {
		if from.repeated(part) {
			continue
		}
		data, err := from.optional(part)
		if err != nil {
			return err
		}
		list, err := tree(data)
		if err != nil {
			continue // the slide can be read without it
		}
		list.all("cm", func(n *node) {
			text := drawnText(n.child("txBody"))
			if old := n.child("text"); text == "" && old.name != "" {
				text = strings.Join(strings.Fields(string(old.content)), " ")
			}
			if text != "" {
				out.paragraph(block{text: "Comment: " + text})
			}
		})
	}
	return nil
}

// slideReader reads the shapes of a slide, or of its notes.
type slideReader struct {
	from      *pack
	relations map[string]relation
	notes     bool
	shown     bool
	failed    error // of a part that was referred to

	titles []block
	blocks []block

	skipped     int
	placeholder string // purpose of the shape: title, body, sldNum, ...
	paragraph   []byte
	linked      openLink
	level       int
	marker      string
	unmarked    bool
	counts      [maxListLevels]int
	shape       []block
	inText      bool
	formula     *treeBuilder
	tables      flow
	inTable     int
	at          rectangle     // of the shape
	picture     *slidePicture // that is being read
	pictures    []slidePicture
	boxes       []slideBox
}

func (s *slideReader) read(data []byte) error {
	err := walkXML(data, s.visit)
	if err != nil && s.failed == nil {
		return broken(s.from.format, err)
	}
	return s.failed
}

func (s *slideReader) visit(token xml.Token, _ int) error {
	if s.formula != nil {
		if s.formula.add(token) {
			s.paragraph = append(s.paragraph, mathText(&s.formula.top)...)
			s.formula = nil
		}
		return nil
	}
	switch t := token.(type) {
	case xml.StartElement:
		if s.skipped > 0 || t.Name.Local == "Fallback" {
			s.skipped++
			return nil
		}
		s.start(t)
	case xml.EndElement:
		if s.skipped > 0 {
			s.skipped--
			return nil
		}
		s.end(t.Name.Local)
	case xml.CharData:
		if s.inText && s.skipped == 0 {
			s.paragraph = append(s.paragraph, t...)
		}
	}
	return s.failed
}

func (s *slideReader) start(t xml.StartElement) {
	switch t.Name.Local {
	case "sld":
		s.shown = attrOf(t.Attr, "show") != "0" && attrOf(t.Attr, "show") != "false"
	case "sp":
		s.placeholder, s.shape, s.counts = "", nil, [maxListLevels]int{}
		s.at = rectangle{}
	case "ph":
		s.placeholder = attrOf(t.Attr, "type")
		if s.placeholder == "" {
			s.placeholder = "body"
		}
	case "cNvPr":
		text := strings.TrimSpace(pictureText(attrOf(t.Attr, "descr")))
		switch {
		case s.picture != nil:
			s.picture.alternative = text
		case text != "" && !s.notes:
			s.blocks = append(s.blocks, block{text: text})
		}
	case "pic":
		s.picture, s.at = &slidePicture{}, rectangle{}
	case "blip":
		if s.picture != nil {
			s.picture.of = s.relations[attrOf(t.Attr, "embed")]
		}
	case "off":
		s.at.left, s.at.top = emu(attrOf(t.Attr, "x")), emu(attrOf(t.Attr, "y"))
	case "ext":
		if width := attrOf(t.Attr, "cx"); width != "" {
			s.at.width, s.at.height = emu(width), emu(attrOf(t.Attr, "cy"))
		}
	case "t":
		s.inText = true
	case "br", "tab":
		s.paragraph = append(s.paragraph, ' ')
	case "oMath":
		s.formula = &treeBuilder{}
		s.formula.add(t)
	case "relIds", "chart":
		s.drawing(t)
	default:
		s.startText(t)
		s.startTable(t)
	}
}

// startText reads the properties of paragraphs and runs.
func (s *slideReader) startText(t xml.StartElement) {
	switch t.Name.Local {
	case "pPr":
		s.level = listDepth(attrOf(t.Attr, "lvl")) - 1
	case "buChar", "buBlip":
		s.marker = "-"
	case "buAutoNum":
		start := max(number(attrOf(t.Attr, "startAt")), 1)
		if s.counts[s.level] == 0 {
			s.counts[s.level] = start - 1
		}
		s.marker = slideMark(s.counts[s.level]+1, attrOf(t.Attr, "type"))
	case "buNone":
		s.unmarked = true
	case "r", "fld":
		s.linked = openLink{at: len(s.paragraph)}
	case "hlinkClick":
		if r := s.relations[attrOf(t.Attr, "id")]; r.beyond {
			s.linked.address = r.target
		}
	}
}

// slideMark returns the mark of a numbered paragraph. The kind is such as arabicPeriod,
// alphaLcParenR, romanUcPeriod.
func slideMark(n int, kind string) string {
	format := "decimal"
	for prefix, of := range map[string]string{"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman"} {
		if strings.HasPrefix(kind, prefix) {
			format = of
		}
	}
	switch mark := numeral(n, format); {
	case strings.HasSuffix(kind, "ParenBoth"):
		return "(" + mark + ")"
	case strings.HasSuffix(kind, "ParenR"):
		return mark + ")"
	default:
		return mark + "."
	}
}

func (s *slideReader) startTable(t xml.StartElement) {
	switch t.Name.Local {
	case "tbl":
		s.inTable++
		s.tables.startTable()
	case "tc":
		if s.inTable == 0 {
			return
		}
		above := attrOf(t.Attr, "vMerge") == "1" || attrOf(t.Attr, "vMerge") == "true"
		s.tables.startCell(1, above)
	}
}

// drawing adds the texts of SmartArt or of a chart.
func (s *slideReader) drawing(t xml.StartElement) {
	id := attrOf(t.Attr, "id")
	if t.Name.Local == "relIds" {
		id = attrOf(t.Attr, "dm")
	}
	blocks, err := s.from.drawing(s.relations[id])
	if err != nil {
		s.failed = err
	}
	s.blocks = append(s.blocks, blocks...)
}

func (s *slideReader) end(name string) {
	switch name {
	case "t":
		s.inText = false
	case "r", "fld":
		if text := string(s.paragraph[min(s.linked.at, len(s.paragraph)):]); s.linked.address != "" {
			s.paragraph = append(s.paragraph[:len(s.paragraph)-len(text)], link(text, s.linked.address)...)
			s.linked.address = ""
		}
	case "p":
		s.endParagraph()
	case "tc":
		if s.inTable == 0 {
			return
		}
		s.tables.setCell(func(c *flowCell) { c.blocks = append(c.blocks, s.shape...) })
		s.shape = nil
		s.tables.endCell()
	case "tr":
		s.tables.endRow(false)
	case "tbl":
		s.inTable = max(s.inTable-1, 0)
		s.tables.startBox()
		s.tables.endTable()
		s.blocks = append(s.blocks, s.tables.endBox()...)
	case "sp":
		s.endShape()
	case "pic":
		s.endPicture()
	}
}

func (s *slideReader) endParagraph() {
	text := strings.Join(strings.Fields(string(s.paragraph)), " ")
	level, marker := s.level, s.marker
	if marker == "" && s.placeholder == "body" && !s.unmarked {
		marker = "-"
	}
	s.paragraph, s.level, s.marker, s.unmarked = s.paragraph[:0], 0, "", false
	if text == "" {
		return
	}
	b := block{text: text}
	if marker != "" && s.inTable == 0 && !s.notes {
		b.marker, b.depth = marker, level+1
		if marker != "-" {
			s.counts[level]++
		}
	}
	if marker == "-" || marker == "" {
		s.counts[level] = 0
	}
	for deeper := level + 1; deeper < maxListLevels; deeper++ {
		s.counts[deeper] = 0
	}
	s.shape = append(s.shape, b)
}

func (s *slideReader) endShape() {
	blocks := s.shape
	s.shape = nil
	switch {
	case len(blocks) == 0:
	case s.placeholder == "sldNum", s.placeholder == "dt", s.placeholder == "ftr", s.placeholder == "hdr", s.placeholder == "sldImg":
	case !s.notes && (s.placeholder == "title" || s.placeholder == "ctrTitle"):
		s.titles = append(s.titles, block{text: inline(blocks), level: 2})
	default:
		s.boxes = append(s.boxes, slideBox{rectangle: s.at, first: len(s.blocks), count: len(blocks), free: s.placeholder == ""})
		s.blocks = append(s.blocks, blocks...)
	}
}
