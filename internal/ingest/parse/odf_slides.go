package parse

import (
	"encoding/xml"
	"slices"
	"strconv"
)

// odfSlide is the slide that is being read.
type odfSlide struct {
	number  int      // from 1; 0 outside of slides
	classes []string // of the open frames
	titles  []block
	spoken  []block
	notes   bool
	hidden  bool
}

func (o *odfReader) startSlide(t xml.StartElement) {
	if o.format != ODP || o.parent() != "presentation" {
		return
	}
	o.slide.number++
	hidden := o.styles[attrOf(t.Attr, "style-name")].hidden
	o.slide.hidden = hidden && !o.all
	if hidden {
		o.hiddenSlides = append(o.hiddenSlides, strconv.Itoa(o.slide.number))
	}
	o.slide.titles, o.slide.spoken = nil, nil
	o.flow.startBox()
}

func (o *odfReader) endFrame() {
	o.frames = o.frames[:max(len(o.frames)-1, 0)]
	n := len(o.slide.classes)
	if n == 0 {
		return
	}
	class := o.slide.classes[n-1]
	o.slide.classes = o.slide.classes[:n-1]
	if o.slide.number == 0 || class != "title" {
		return
	}
	if text := inline(o.flow.endBox()); text != "" && !o.slide.notes {
		o.slide.titles = append(o.slide.titles, block{text: text, level: 2})
	}
}

func (o *odfReader) endNotes() {
	o.slide.notes = false
	for i, b := range o.flow.endBox() {
		if i == 0 && b.table == nil {
			b.text = "Notes: " + b.text
		}
		o.slide.spoken = append(o.slide.spoken, b)
	}
}

func (o *odfReader) endSlide() {
	if o.format != ODP || o.parent() != "presentation" || len(o.flow.open) == 0 {
		return
	}
	blocks := o.flow.endBox()
	if o.slide.hidden {
		return
	}
	_ = o.flow.out.span(Span{Kind: Slide, Number: o.slide.number}, func() error {
		for _, b := range slices.Concat(o.slide.titles, blocks, o.slide.spoken) {
			o.flow.paragraph(b)
		}
		return nil
	})
}
