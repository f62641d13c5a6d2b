package pdftext

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// Bounds of the lines that are drawn on a page, in points.
const (
	maxDrawn    = 4000 // objects of a page and its forms that are looked at; one with more is a drawing
	maxForms    = 8    // that stand in each other
	maxRules    = 1000 // lines of each axis; likewise
	maxSegments = 8000 // of the paths of a page that are more than a line or a rectangle
	ruleWidth   = 3.0  // of a line at most; more is an area
	ruleLength  = 6.0  // of a line at least
	ruleSlack   = 3.0  // between lines that meet, or are drawn twice beside each other
	outerEdge   = 10.0 // from the outer column to the end of the lines that cross it, from which on that has no line
)

// Bounds of a table in drawn lines.
const (
	maxRuledRows = 400
	maxCellLines = 30  // of a cell; more are columns of text
	minFilled    = 0.4 // share of the cells that have text
)

// rule is a line that is drawn along one axis of a page.
type rule struct{ at, from, to float64 }

// meets reports whether a line of one axis meets one of the other.
func (r rule) meets(other rule) bool {
	return other.at >= r.from-ruleSlack && other.at <= r.to+ruleSlack && r.at >= other.from-ruleSlack && r.at <= other.to+ruleSlack
}

// ruling is a grid of drawn lines.
type ruling struct {
	xs, ys       []float64 // of its lines, from left to right and from top to bottom
	right, below [][]bool  // of the cell in a row and column: there is a line
	lines, torn  int       // of text: all, and those that the grid does not fit
}

// fits reports whether the columns of the grid are those of its text: the words of most lines neither cross its lines nor
// stand in more columns.
func (g *ruling) fits() bool {
	const some, most = 2, 3
	return g.torn < some || g.torn*most < g.lines
}

// rules are the lines that are drawn on a page along its axes.
type rules struct{ across, down []rule }

// add adds a line or a rectangle as it is drawn, and reports whether it is one.
func (r *rules) add(b rect) bool {
	switch {
	case b.height() <= ruleWidth && b.width() >= ruleLength:
		r.across = append(r.across, rule{(b.bottom + b.top) / 2, b.left, b.right})
	case b.width() <= ruleWidth && b.height() >= ruleLength:
		r.down = append(r.down, rule{(b.left + b.right) / 2, b.bottom, b.top})
	default:
		return false
	}
	return true
}

// frame adds the sides of a rectangle.
func (r *rules) frame(b rect) {
	if b.width() >= ruleLength && b.height() >= ruleLength {
		r.across = append(r.across, rule{b.bottom, b.left, b.right}, rule{b.top, b.left, b.right})
		r.down = append(r.down, rule{b.left, b.bottom, b.top}, rule{b.right, b.bottom, b.top})
	}
}

// turned returns the lines as text that is written in a direction sees them, whose sine and cosine are 0, 1 or -1.
func (r rules) turned(sin, cos float64) rules {
	turn := func(x1, y1, x2, y2 float64) rect {
		along1, across1, along2, across2 := x1*cos+y1*sin, y1*cos-x1*sin, x2*cos+y2*sin, y2*cos-x2*sin
		return rect{min(along1, along2), min(across1, across2), max(along1, along2), max(across1, across2)}
	}
	var out rules
	for _, l := range r.across {
		out.add(turn(l.from, l.at, l.to, l.at))
	}
	for _, l := range r.down {
		out.add(turn(l.at, l.from, l.at, l.to))
	}
	return out
}

// rules returns the lines that are drawn on a page, also those in its forms.
func (d *document) rules(page requests.Page) rules {
	counted, err := d.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if err != nil {
		return rules{}
	}
	w := ruleReader{document: d, objects: maxDrawn, segments: maxSegments}
	return w.all(counted.Count, unmoved, 0, func(i int) (references.FPDF_PAGEOBJECT, error) {
		got, err := d.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: page, Index: i})
		if err != nil {
			return "", err
		}
		return got.PageObject, nil
	})
}

// ruleReader reads the lines of a page.
type ruleReader struct {
	*document

	rules    rules
	objects  int // that may still be looked at
	segments int // likewise
}

// all adds the lines of objects, which a form draws by a matrix and which get returns, and returns all lines so far; none if there
// are too many objects.
func (w *ruleReader) all(count int, at matrix, deep int, get func(i int) (references.FPDF_PAGEOBJECT, error)) rules {
	if w.objects -= count; w.objects < 0 {
		w.rules = rules{}
		return w.rules
	}
	for i := range count {
		object, err := get(i)
		if err != nil {
			continue
		}
		kind, err := w.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object})
		switch {
		case err != nil:
		case kind.Type == enums.FPDF_PAGEOBJ_PATH:
			w.path(object, at)
		case kind.Type == enums.FPDF_PAGEOBJ_FORM && deep < maxForms:
			w.form(object, at, deep+1)
		}
		if w.objects < 0 {
			break
		}
	}
	return w.rules
}

// form adds the lines in a form.
func (w *ruleReader) form(form references.FPDF_PAGEOBJECT, at matrix, deep int) {
	own, err := w.matrixOf(form)
	if err != nil {
		return
	}
	counted, err := w.FPDFFormObj_CountObjects(&requests.FPDFFormObj_CountObjects{PageObject: form})
	if err != nil {
		return
	}
	w.all(counted.Count, own.after(at), deep, func(i int) (references.FPDF_PAGEOBJECT, error) {
		got, err := w.FPDFFormObj_GetObject(&requests.FPDFFormObj_GetObject{PageObject: form, Index: uint64(i)})
		if err != nil {
			return "", err
		}
		return got.PageObject, nil
	})
}

// path adds the lines of a path.
func (w *ruleReader) path(path references.FPDF_PAGEOBJECT, at matrix) {
	b, ok := w.bounds(path)
	if !ok {
		return
	}
	if b = at.rect(b); w.rules.add(b) || b.width() < ruleLength || b.height() < ruleLength {
		return
	}
	counted, err := w.FPDFPath_CountSegments(&requests.FPDFPath_CountSegments{PageObject: path})
	switch {
	case err != nil:
	case counted.Count == 4 || counted.Count == 5: // a rectangle, closed by a line or not
		w.rules.frame(b)
	case counted.Count <= w.segments:
		w.segments -= counted.Count
		w.addPath(&w.rules, path, at, counted.Count)
	}
}

// addPath adds the lines and rectangles of which a path consists, and nothing of one that has others. Of two rectangles that stand
// in each other, which are a border and its inside, it adds the outer one.
func (d *document) addPath(r *rules, path references.FPDF_PAGEOBJECT, at matrix, segments int) {
	own, err := d.matrixOf(path)
	if err != nil {
		return
	}
	m := own.after(at)
	var found rules
	var outer rect
	var points []point
	end := func() bool {
		defer func() { points = points[:0] }()
		b := boundsOf(points)
		switch {
		case len(points) < 2 || found.add(b):
			return true
		case isRectangle(points):
			if b.left < outer.left || b.right > outer.right || b.bottom < outer.bottom || b.top > outer.top {
				found.frame(b)
				outer = b
			}
			return true
		}
		for i, to := range points[1:] {
			if from := points[i]; !found.add(boundsOf([]point{from, to})) && max(math.Abs(to.x-from.x), math.Abs(to.y-from.y)) >= ruleLength {
				return false // a line that is aslant
			}
		}
		return true
	}
	for i := range segments {
		segment, err := d.FPDFPath_GetPathSegment(&requests.FPDFPath_GetPathSegment{PageObject: path, Index: i})
		if err != nil {
			return
		}
		kind, err := d.FPDFPathSegment_GetType(&requests.FPDFPathSegment_GetType{PathSegment: segment.PathSegment})
		if err != nil || kind.Type == enums.FPDF_SEGMENT_BEZIERTO || kind.Type == enums.FPDF_SEGMENT_MOVETO && !end() {
			return
		}
		to, err := d.FPDFPathSegment_GetPoint(&requests.FPDFPathSegment_GetPoint{PathSegment: segment.PathSegment})
		if err != nil {
			return
		}
		points = append(points, m.move(point{float64(to.X), float64(to.Y)}))
	}
	if end() {
		r.across, r.down = append(r.across, found.across...), append(r.down, found.down...)
	}
}

// isRectangle reports whether points are the corners of a rectangle along the axes, the first of which may be repeated.
func isRectangle(points []point) bool {
	const exact = 0.01 // points
	b := boundsOf(points)
	for i, p := range points {
		near := func(at, other float64) bool { return math.Abs(at-other) <= exact }
		if !near(p.x, b.left) && !near(p.x, b.right) || !near(p.y, b.bottom) && !near(p.y, b.top) || i > 0 && near(p.x, points[i-1].x) == near(p.y, points[i-1].y) {
			return false
		}
	}
	return len(points) == 4 || len(points) == 5
}

// grids returns the grids that are drawn on the page, as the text of a line sees them that is written along one of its axes.
func (p *pageReader) grids(l *line) []*ruling {
	const right = math.Pi / 2
	quarter := int(math.Round(l.angle / right))
	if len(p.rules.across) == 0 || math.Abs(l.angle-float64(quarter)*right) > 1e-9 {
		return nil
	}
	quarter = (quarter + 4) % 4
	grids, known := p.ruled[quarter]
	if !known {
		r := p.rules.turned([]float64{0, 1, 0, -1}[quarter], []float64{1, 0, -1, 0}[quarter])
		grids = gridsOf(r.across, r.down)
		p.ruled[quarter] = grids
	}
	return grids
}

// gridsOf returns the grids of lines that meet, of at least two rows and columns.
func gridsOf(across, down []rule) (found []*ruling) {
	if len(across) < 3 || len(down) == 0 || len(across) > maxRules || len(down) > maxRules {
		return nil
	}
	group := make([]int, len(across)) // of lines that meet: a number of one of them
	for i := range group {
		group[i] = i
	}
	first := func(i int) int {
		for group[i] != i {
			group[i] = group[group[i]]
			i = group[i]
		}
		return i
	}
	met := make([]int, len(down))
	for n, v := range down {
		met[n] = -1
		for i, h := range across {
			if !h.meets(v) {
				continue
			}
			if met[n] >= 0 {
				group[first(i)] = first(met[n])
			}
			met[n] = i
		}
	}
	rows, columns := map[int][]rule{}, map[int][]rule{}
	for i, h := range across {
		rows[first(i)] = append(rows[first(i)], h)
	}
	for n, v := range down {
		if met[n] >= 0 {
			columns[first(met[n])] = append(columns[first(met[n])], v)
		}
	}
	for of, horizontal := range rows {
		if g := newRuling(horizontal, columns[of]); g != nil {
			found = append(found, g)
		}
	}
	slices.SortFunc(found, func(a, b *ruling) int { return cmp.Compare(b.ys[0], a.ys[0]) })
	return found
}

// newRuling returns the grid of lines that meet, nil if they have less than two rows or columns, or too many.
func newRuling(across, down []rule) *ruling {
	xs, ys := positions(down, across), positions(across, down)
	slices.Reverse(ys)
	if len(xs) < 3 || len(ys) < 3 || len(xs) > maxColumns+1 || len(ys) > maxRuledRows+1 {
		return nil
	}
	g := &ruling{xs: xs, ys: ys}
	for r := range len(ys) - 1 {
		right, below := make([]bool, len(xs)-1), make([]bool, len(xs)-1)
		for c := range right {
			right[c] = isDrawn(down, xs[c+1], (ys[r]+ys[r+1])/2)
			below[c] = isDrawn(across, ys[r+1], (xs[c]+xs[c+1])/2)
		}
		g.right, g.below = append(g.right, right), append(g.below, below)
	}
	return g
}

// positions returns where lines are, ascending, with the ends of the lines that cross them where these reach further.
func positions(lines, crossing []rule) (found []float64) {
	var all []float64
	for _, l := range lines {
		all = append(all, l.at)
	}
	slices.Sort(all)
	for i, begun := 0, 0; i < len(all); i++ {
		if i+1 == len(all) || all[i+1]-all[i] > ruleSlack {
			found = append(found, (all[begun]+all[i])/2)
			begun = i + 1
		}
	}
	if len(found) == 0 || len(crossing) == 0 {
		return nil
	}
	least := slices.MinFunc(crossing, func(a, b rule) int { return cmp.Compare(a.from, b.from) }).from
	most := slices.MaxFunc(crossing, func(a, b rule) int { return cmp.Compare(a.to, b.to) }).to
	if least < found[0]-outerEdge {
		found = slices.Insert(found, 0, least)
	}
	if most > found[len(found)-1]+outerEdge {
		found = append(found, most)
	}
	return found
}

// isDrawn reports whether one of the lines passes a place.
func isDrawn(lines []rule, at, along float64) bool {
	return slices.ContainsFunc(lines, func(l rule) bool {
		return l.at >= at-ruleSlack && l.at <= at+ruleSlack && l.from <= along && l.to >= along
	})
}

// cellAt returns the cell at a place, the first of those that no line separates.
func (g *ruling) cellAt(x, y float64) (row, column int, ok bool) {
	column = cellIn(g.xs, x)
	row = slices.IndexFunc(g.ys, func(line float64) bool { return line <= y }) - 1
	if column < 0 || row < 0 {
		return 0, 0, false
	}
	for column > 0 && !g.right[row][column-1] {
		column--
	}
	for row > 0 && !g.below[row-1][column] {
		row--
	}
	return row, column, true
}

// cellIn returns the number of the interval between ascending positions in which a place is, -1 if it is in none.
func cellIn(ascending []float64, at float64) int {
	n := slices.IndexFunc(ascending, func(line float64) bool { return line > at })
	return max(n, 0) - 1
}

// splitRuled finds the cells of a line by the grids drawn on the page. It reports whether the line is in one.
func (p *pageReader) splitRuled(l *line) bool {
	const inside = 0.3 // of a letter above the baseline, in font sizes
	y := l.across + inside*l.size
	for _, g := range p.grids(l) {
		if l.size == 0 || y > g.ys[0] || y < g.ys[len(g.ys)-1] {
			continue
		}
		var cells []cell
		begun, last, current, torn := l.start, l.start, -1, false
		for i := l.start; i <= l.last; i++ {
			if !p.visible(i) {
				continue
			}
			x, _ := p.origin(i)
			_, column, ok := g.cellAt(x+inside, y)
			if ok && current >= 0 && column != current && last == i-1 && !p.isApart(last, x, l.size) {
				column, torn = current, true // a word that is longer than its cell
			}
			if !ok {
				cells = nil
				break
			}
			if current >= 0 && column != current {
				cells = append(cells, p.piece(begun, last))
				begun = i
			}
			current, last = column, i
		}
		if current < 0 || last != l.last {
			continue
		}
		cells = append(cells, p.piece(begun, last))
		p.split(l)
		if g.lines++; torn || len(l.cells) > len(cells) {
			g.torn++
		}
		if l.ruling, l.cells = g, cells; len(cells) == 1 {
			l.cells = nil
		}
		return true
	}
	return false
}

// isApart reports whether a character stands as far from a place as words do.
func (p *pageReader) isApart(last int, from, size float64) bool {
	end, ok := p.end(last)
	return ok && from-end > wordGap*size
}

// piece returns the cell with the characters from the first to the last one.
func (p *pageReader) piece(first, last int) cell {
	from, _ := p.origin(first)
	to, _ := p.end(last)
	return cell{clean(string(p.chars[first : last+1])), from, to}
}

// ruledPiece is a line of a cell of a grid.
type ruledPiece struct {
	text         string
	across, size float64
}

// table returns the table that the lines in the grid make, without lines if they make none.
func (g *ruling) table(lines []line) grid {
	cells := make([][][]ruledPiece, len(g.ys)-1)
	for r := range cells {
		cells[r] = make([][]ruledPiece, len(g.xs)-1)
	}
	n := 0
	for _, l := range lines {
		if l.ruling != g {
			continue
		}
		n++
		for i, text := range l.texts() {
			from := l.along
			if l.cells != nil {
				from = l.cells[i].from
			}
			if r, c, ok := g.cellAt(from+0.3, l.across+0.3*l.size); ok {
				cells[r][c] = append(cells[r][c], ruledPiece{text, l.across, l.size})
			}
		}
	}
	var rows [][]string
	filled, all := 0, 0
	for r := range cells {
		for c := range cells[r] {
			if c > 0 && !g.right[r][c-1] || r > 0 && !g.below[r-1][c] {
				continue // a part of the cell before or above
			}
			all++
			if len(cells[r][c]) > 0 {
				filled++
			}
			if len(cells[r][c]) > maxCellLines {
				return grid{}
			}
		}
		rows = append(rows, rowsIn(cells[r])...)
	}
	columns := make([]column, len(g.xs)-1)
	for c := range columns {
		columns[c] = column{g.xs[c], g.xs[c+1]}
	}
	rows, columns = withText(rows, columns)
	if len(rows) < 2 || len(columns) < 2 || float64(filled) < minFilled*float64(all) {
		return grid{}
	}
	return grid{columns, rows, n}
}

// rowsIn returns the rows between two lines across a table: one, of cells that may have several lines; or, where each
// of at least minRows lines begins in the first column and goes on in another, one a line.
func rowsIn(cells [][]ruledPiece) [][]string {
	var lines [][]string // by baseline
	var at []float64
	row := make([]string, len(cells))
	for c, pieces := range cells {
		slices.SortStableFunc(pieces, func(a, b ruledPiece) int { return cmp.Compare(b.across, a.across) })
		for _, piece := range pieces {
			row[c] = joinLines(row[c], piece.text)
			k := slices.IndexFunc(at, func(across float64) bool {
				return across-piece.across < 0.5*piece.size && piece.across-across < 0.5*piece.size
			})
			if k < 0 {
				k = len(at)
				at, lines = append(at, piece.across), append(lines, make([]string, len(cells)))
			}
			lines[k][c] = joinLines(lines[k][c], piece.text)
		}
	}
	first := slices.IndexFunc(row, func(text string) bool { return text != "" })
	if first < 0 {
		return nil
	}
	apart := len(lines) >= minRows
	for _, l := range lines {
		apart = apart && l[first] != "" && slices.ContainsFunc(l[first+1:], func(text string) bool { return text != "" })
	}
	if apart {
		return lines
	}
	return [][]string{row}
}

// joinLines returns the lines of a cell as one.
func joinLines(before, line string) string {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(line)
	switch {
	case before == "":
		return line
	case hyphenated(before, line):
		return strings.TrimSuffix(before, "-") + line
	case isDense(last) && isDense(first):
		return before + line
	}
	return before + " " + line
}

// isDense reports whether a character is of a script that writes no spaces.
func isDense(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef
}

// withText returns the columns that have text, and the rows with them alone.
func withText(rows [][]string, columns []column) ([][]string, []column) {
	var kept []column
	out := make([][]string, len(rows))
	for c := range columns {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[c] != "" }) {
			continue
		}
		kept = append(kept, columns[c])
		for r := range rows {
			out[r] = append(out[r], rows[r][c])
		}
	}
	return out, kept
}

// drop takes the grids that hold no tables from their lines, and finds the cells of these by their gaps.
func (p *pageReader) drop(lines []line) {
	for _, grids := range p.ruled {
		for _, g := range grids {
			if g.fits() && g.table(lines).lines > 0 {
				continue
			}
			for i := range lines {
				if l := &lines[i]; l.ruling == g {
					l.ruling, l.cells = nil, nil
					p.sin, p.cos = math.Sincos(l.angle)
					if !p.splitTagged(l) {
						p.split(l)
					}
				}
			}
		}
	}
}
