package parse

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// odfFrame is a frame that is being read.
type odfFrame struct {
	size    [2]float64 // in points, 0 if unknown
	picture int        // the number of its picture, -1 for none
	object  bool       // it has a formula or a chart, of which a picture may follow
}

func (o *odfReader) startFrame(t xml.StartElement) {
	f := odfFrame{picture: -1}
	f.size = [2]float64{odfLength(attrOf(t.Attr, "width")), odfLength(attrOf(t.Attr, "height"))}
	o.frames = append(o.frames, f)
}

func (o *odfReader) startObject() {
	if n := len(o.frames); n > 0 {
		o.frames[n-1].object = true
	}
}

// image marks the place of the picture of a frame. Of several, which are the same picture in other formats, it is the first.
func (o *odfReader) image(name string) {
	n := len(o.frames)
	if n == 0 || o.parent() != "frame" || o.format == ODS || o.frames[n-1].object || o.frames[n-1].picture >= 0 {
		return
	}
	f := &o.frames[n-1]
	f.picture = o.from.drawings.add(o.from.picture(strings.TrimPrefix(name, "./"), f.size))
	mark := figureMark(f.picture, "")
	if p := o.paragraph(); p == nil || p.open != len(o.flow.open) {
		o.flow.paragraph(block{text: mark})
	} else if !p.hidden {
		p.text = append(p.text, mark...)
	}
}

// described returns the description of what is in a frame, with the mark of its picture.
func (o *odfReader) described(text string) string {
	n := len(o.frames)
	if n == 0 || o.frames[n-1].picture < 0 {
		return text
	}
	return figureMark(o.frames[n-1].picture, text)
}

// odfLength returns a length, such as 4.5cm, in points; 0 for one that is not absolute.
func odfLength(text string) float64 {
	for unit, points := range map[string]float64{"cm": 72 / 2.54, "mm": 7.2 / 2.54, "in": 72, "pt": 1} {
		if value, ok := strings.CutSuffix(text, unit); ok {
			n, _ := strconv.ParseFloat(value, 64)
			return n * points
		}
	}
	return 0
}
