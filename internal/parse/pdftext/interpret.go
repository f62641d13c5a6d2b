package pdftext

import "github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

// matrix holds a to f of the matrix [a b 0; c d 0; e f 1] of ISO 32000-1, 8.3.3.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// times returns m x n, the transformation that applies m first and then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// Limits of one content stream, including the forms that it draws.
const (
	maxOperands  = 64
	maxFormDepth = 12
	maxSaved     = 512
	perStream    = 4 << 10 // bytes that each stream counts in addition to its size
)

// textState holds the parameters that the text operators set (ISO 32000-1, 9.3).
type textState struct {
	font          *font
	size, scale   float64
	charSpace     float64
	wordSpace     float64
	leading, rise float64
}

type graphicsState struct {
	ctm  matrix
	text textState
}

// operand is a value on the interpreter's stack. An array is stored as an operand of
// kind open, its elements, and an operand of kind shut.
type operand struct {
	kind  kind
	value float64
	text  string
}

// interpreter runs the content of one page and collects its lines.
type interpreter struct {
	reader *reader
	lines  lineBuilder

	state            graphicsState
	saved            []graphicsState
	text, lineMatrix matrix
	stack            []operand
	// marked is the present depth of marked content. artifact is the depth at which an
	// artifact began, such as a page number or a running title, or 0 outside of one.
	marked, artifact int
}

// run interprets a content stream.
func (in *interpreter) run(content []byte, resources types.Dict, ctm matrix, depth int) error {
	if in.reader.interpreted += len(content) + perStream; in.reader.interpreted > maxContentBytes {
		return ErrTooLarge
	}
	outer, outerSaved := in.state, in.saved
	in.state.ctm, in.saved = ctm, nil
	if in.state.text.scale == 0 {
		in.state.text.scale = 1
	}
	defer func() { in.state, in.saved = outer, outerSaved }()
	s := scanner{data: content}
	in.stack = in.stack[:0]
	for {
		t := s.next()
		switch t.kind {
		case atEnd:
			return nil
		case operator:
			if string(t.bytes) == "BI" {
				s.skipImage()
			} else if err := in.do(string(t.bytes), resources, depth); err != nil {
				return err
			}
			in.stack = in.stack[:0]
		default:
			// Only an array of text may have many operands. Anything else that grows
			// over the limit is not a valid content stream.
			if len(in.stack) >= maxOperands && in.stack[0].kind != open {
				in.stack = in.stack[:0]
			}
			in.stack = append(in.stack, operand{t.kind, t.value, string(t.bytes)})
		}
	}
}

// n returns the operand at fromEnd, counted from the end of the stack, as a number.
func (in *interpreter) n(fromEnd int) float64 {
	if fromEnd >= len(in.stack) {
		return 0
	}
	return in.stack[len(in.stack)-1-fromEnd].value
}

// s returns the operand at fromEnd, counted from the end of the stack, as a name or
// string.
func (in *interpreter) s(fromEnd int) string {
	if fromEnd >= len(in.stack) {
		return ""
	}
	return in.stack[len(in.stack)-1-fromEnd].text
}

func (in *interpreter) matrix() matrix {
	return matrix{in.n(5), in.n(4), in.n(3), in.n(2), in.n(1), in.n(0)}
}

func (in *interpreter) do(op string, resources types.Dict, depth int) error {
	ts := &in.state.text
	switch op {
	case "q":
		if len(in.saved) < maxSaved {
			in.saved = append(in.saved, in.state)
		}
	case "Q":
		if n := len(in.saved); n > 0 {
			in.state, in.saved = in.saved[n-1], in.saved[:n-1]
		}
	case "cm":
		in.state.ctm = in.matrix().times(in.state.ctm)
	case "BT":
		in.text, in.lineMatrix = identity, identity
	case "Tf":
		ts.font, ts.size = in.reader.font(in.reader.dict(resources["Font"])[in.s(1)]), in.n(0)
	case "Tc":
		ts.charSpace = in.n(0)
	case "Tw":
		ts.wordSpace = in.n(0)
	case "Tz":
		ts.scale = in.n(0) / 100
	case "TL":
		ts.leading = in.n(0)
	case "Ts":
		ts.rise = in.n(0)
	case "BMC", "BDC":
		in.mark(op)
	case "EMC":
		if in.artifact == in.marked {
			in.artifact = 0
		}
		in.marked = max(0, in.marked-1)
	case "Do":
		return in.draw(in.reader.dict(resources["XObject"])[in.s(0)], resources, depth)
	default:
		return in.write(op)
	}
	return nil
}

func (in *interpreter) mark(op string) {
	tag := in.s(0)
	if op == "BDC" && len(in.stack) > 0 {
		tag = in.stack[0].text
	}
	if in.marked++; in.artifact == 0 && tag == "Artifact" {
		in.artifact = in.marked
	}
}

// write executes the operators that move and show text.
func (in *interpreter) write(op string) error {
	ts := &in.state.text
	switch op {
	case "Tm":
		in.text = in.matrix()
		in.lineMatrix = in.text
	case "Td":
		in.move(in.n(1), in.n(0))
	case "TD":
		ts.leading = -in.n(0)
		in.move(in.n(1), in.n(0))
	case "T*":
		in.move(0, -ts.leading)
	case "Tj":
		return in.show(in.s(0))
	case "'":
		in.move(0, -ts.leading)
		return in.show(in.s(0))
	case `"`:
		ts.wordSpace, ts.charSpace = in.n(2), in.n(1)
		in.move(0, -ts.leading)
		return in.show(in.s(0))
	case "TJ":
		for _, o := range in.stack {
			switch o.kind {
			case number:
				in.advance(-o.value / 1000 * ts.size * ts.scale)
			case str:
				if err := in.show(o.text); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// move begins a line at an offset from the start of the current line.
func (in *interpreter) move(x, y float64) {
	in.lineMatrix = matrix{1, 0, 0, 1, x, y}.times(in.lineMatrix)
	in.text = in.lineMatrix
}

func (in *interpreter) advance(x float64) {
	in.text = matrix{1, 0, 0, 1, x, 0}.times(in.text)
}

// show writes a string in the current font.
func (in *interpreter) show(raw string) error {
	ts := &in.state.text
	if ts.font == nil || raw == "" {
		return nil
	}
	text, glyphs, width, spaces, unreadable := ts.font.decode(raw)
	before := matrix{ts.size * ts.scale, 0, 0, ts.size, 0, ts.rise}.times(in.text).times(in.state.ctm)
	in.advance((width/1000*ts.size + float64(glyphs)*ts.charSpace + float64(spaces)*ts.wordSpace) * ts.scale)
	after := matrix{ts.size * ts.scale, 0, 0, ts.size, 0, ts.rise}.times(in.text).times(in.state.ctm)
	if in.artifact > 0 {
		return nil
	}
	in.reader.unreadable += unreadable
	if in.reader.textBytes += len(text); in.reader.textBytes > maxTextBytes {
		return ErrTooLarge
	}
	in.lines.add(text, before, after)
	return nil
}

// draw interprets a form, page content that is stored as a separate object.
func (in *interpreter) draw(o types.Object, resources types.Dict, depth int) error {
	if o == nil {
		return nil
	}
	form, _, err := in.reader.pdf.DereferenceStreamDict(o)
	if err != nil || form == nil || depth >= maxFormDepth || in.reader.name(form.Dict["Subtype"]) != "Form" {
		return nil
	}
	content, err := in.reader.stream(o)
	if err != nil {
		return err
	}
	ctm := in.state.ctm
	if m := in.reader.array(form.Dict["Matrix"]); len(m) == 6 {
		var own matrix
		for i := range own {
			own[i] = in.reader.number(m[i])
		}
		ctm = own.times(ctm)
	}
	if own := in.reader.dict(form.Dict["Resources"]); own != nil {
		resources = own
	}
	return in.run(content, resources, ctm, depth+1)
}
