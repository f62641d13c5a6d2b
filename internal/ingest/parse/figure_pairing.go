package parse

import (
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/ingest/parse/caption"
)

// pairing finds the captions of the pictures in a text with marks.
type pairing struct {
	text     string
	marks    marks
	drawings []drawn
}

// passage is a paragraph of the text, and the pictures in it.
type passage struct {
	textspan.Span
	pictures []int // numbers; each is in one passage
	bare     string
	begins   int   // the position of what is not the alternative text of a picture
	styled   bool  // the reader says that it is a caption
	of       []int // the pictures that it is the caption of, if the reader says so
	used     bool
}

// isCaption reports whether the passage can be the caption of a picture beside it.
func (p *passage) isCaption() bool {
	return !p.used && len(p.of) == 0 && !strings.HasPrefix(p.bare, "|") && len(p.bare) <= maxCaption && !caption.IsTable(p.bare) && (p.styled && p.bare != "" || caption.IsFigure(p.bare))
}

// panel are pictures that stand together and have one caption.
type panel struct {
	pictures     []int
	first, after int // passages[first:after]
}

func (p pairing) figures() []Figure {
	passages := p.passages()
	useful := p.useful()
	var figures []Figure
	done := map[int]bool{}
	add := func(pictures []int, at textspan.Span) {
		pictures = slices.DeleteFunc(slices.Clone(pictures), func(n int) bool { return done[n] || !useful[n] })
		if len(pictures) == 0 {
			return
		}
		figures = append(figures, p.figure(pictures[0], at, true))
		for _, n := range pictures {
			done[n] = true
		}
	}
	for i := range passages {
		if len(passages[i].of) > 0 && passages[i].bare != "" {
			add(passages[i].of, textspan.Span{Start: passages[i].begins, End: min(passages[i].End, passages[i].begins+maxCaption)})
			passages[i].used = true
		}
	}
	panels := panelsOf(passages, func(n int) bool { return useful[n] && !done[n] })
	below, above := pairs(passages, panels, false), pairs(passages, panels, true)
	chosen := below
	if len(above) > len(below) {
		chosen = above
	}
	for i, g := range panels {
		at, ok := chosen[i]
		switch {
		case ok:
			add(g.pictures, textspan.Span{Start: passages[at].begins, End: passages[at].End})
		case g.after-g.first == 1 && passages[g.first].bare != "":
			for pictures, span := range withinPassage(p.text, passages[g.first], g.pictures) {
				add(pictures, span)
			}
		}
	}
	return append(figures, p.described(done, useful)...)
}

// figure returns the figure with a picture, and a text.
func (p pairing) figure(number int, at textspan.Span, captioned bool) Figure {
	d := p.drawings[number]
	return Figure{Start: at.Start, End: at.End, Captioned: captioned, MediaType: d.mediaType, Width: d.width, Height: d.height}
}

// described returns the figures that have alternative texts and no caption.
func (p pairing) described(done, useful map[int]bool) (figures []Figure) {
	longest := slices.Clone(p.marks.pictures) // of a title and a description, the description
	slices.SortStableFunc(longest, func(a, b pictureMark) int {
		return (b.alternative.End - b.alternative.Start) - (a.alternative.End - a.alternative.Start)
	})
	for _, m := range longest {
		alternative := p.text[m.alternative.Start:m.alternative.End]
		if m.number >= len(p.drawings) || done[m.number] || !useful[m.number] || p.drawings[m.number].beyond || p.drawings[m.number].isSmall() ||
			len(alternative) > maxCaption || caption.Alternative(alternative) == "" {
			continue
		}
		done[m.number] = true
		figures = append(figures, p.figure(m.number, m.alternative, false))
	}
	return figures
}

// isSmall reports whether a picture is shown smaller than a figure is.
func (d drawn) isSmall() bool {
	return d.shown[0] > 0 && d.shown[1] > 0 && d.shown[0] < minPoints && d.shown[1] < minPoints
}

// useful returns the numbers of the pictures that are no decoration.
func (p pairing) useful() map[int]bool {
	times := map[string]int{}
	for _, d := range p.drawings {
		if d.key != "" {
			times[d.key]++
		}
	}
	useful := map[int]bool{}
	for n, d := range p.drawings {
		useful[n] = (d.width == 0 || d.width >= minPixels && d.height >= minPixels) && times[d.key] < fewestRepeats
	}
	return useful
}

// passages returns the paragraphs of the text.
func (p pairing) passages() []passage {
	var all []passage
	seen := map[int]bool{}
	pictures, captions := p.marks.pictures, p.marks.captions
	for at := 0; at < len(p.text); {
		end := len(p.text)
		if next := strings.Index(p.text[at:], "\n\n"); next >= 0 {
			end = at + next
		}
		one := passage{Span: textspan.Span{Start: at, End: end}, begins: at}
		var bare strings.Builder
		from, blank := at, true
		skip := func(start, next int) {
			between := p.text[from:max(start, from)]
			bare.WriteString(between)
			if blank = blank && strings.TrimSpace(unmarkedText(between)) == ""; blank {
				one.begins = next
			}
			from = max(next, from)
		}
		for len(pictures) > 0 && pictures[0].start < end {
			if n := pictures[0].number; !seen[n] && n < len(p.drawings) {
				one.pictures = append(one.pictures, n)
				seen[n] = true
			}
			skip(pictures[0].start, pictures[0].end)
			pictures = pictures[1:]
		}
		skip(end, end)
		one.bare = strings.TrimSpace(unmarkedText(bare.String()))
		for len(captions) > 0 && captions[0].start < end {
			one.styled, one.of = true, captions[0].numbers
			captions = captions[1:]
		}
		if one.bare != "" || len(one.pictures) > 0 {
			all = append(all, one)
		}
		at = end + len("\n\n")
	}
	return all
}

// panelsOf returns the passages with pictures for which open returns true. Those with nothing else that follow each other are one
// panel.
func panelsOf(passages []passage, open func(int) bool) (panels []panel) {
	for i, one := range passages {
		pictures := slices.DeleteFunc(slices.Clone(one.pictures), func(n int) bool { return !open(n) })
		if len(pictures) == 0 {
			continue
		}
		if n := len(panels) - 1; n >= 0 && one.bare == "" && panels[n].after == i && passages[i-1].bare == "" {
			panels[n].pictures, panels[n].after = append(panels[n].pictures, pictures...), i+1
			continue
		}
		panels = append(panels, panel{pictures: pictures, first: i, after: i + 1})
	}
	return panels
}

// pairs returns the passages that are captions of panels, by the numbers of the panels: those right below, and where there is none
// those right above; or the other way round.
func pairs(passages []passage, panels []panel, above bool) map[int]int {
	found, used := map[int]int{}, map[int]bool{}
	for i, g := range panels {
		beside := []int{g.after, g.first - 1}
		if above {
			slices.Reverse(beside)
		}
		if passages[g.first].bare != "" {
			beside = slices.Insert(beside, 0, g.first) // the caption stands in the paragraph of the picture
		}
		for _, at := range beside {
			if at >= 0 && at < len(passages) && !used[at] && passages[at].isCaption() && (at == g.first || !passages[at].hasPictures()) {
				found[i], used[at] = at, true
				break
			}
		}
	}
	return found
}

func (p *passage) hasPictures() bool { return len(p.pictures) > 0 }

// withinPassage yields the pictures whose captions are in a paragraph with them: in its lines, or in the cells of a table, as many as
// there are pictures.
func withinPassage(text string, one passage, pictures []int) func(yield func([]int, textspan.Span) bool) {
	return func(yield func([]int, textspan.Span) bool) {
		var captions []textspan.Span
		for at := one.Start; at < one.End; {
			end := one.End
			if length := strings.IndexAny(text[at:one.End], "|\n"); length >= 0 {
				end = at + length
			}
			if end-at <= maxCaption && caption.IsFigure(unmarkedText(text[at:end])) {
				captions = append(captions, textspan.Span{Start: at, End: end})
			}
			at = end + 1
		}
		switch {
		case len(captions) == 1:
			yield(pictures, captions[0])
		case len(captions) == len(pictures):
			for n := range captions {
				if !yield(pictures[n:n+1], captions[n]) {
					return
				}
			}
		}
	}
}
