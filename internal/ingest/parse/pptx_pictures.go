package parse

import (
	"math"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse/caption"
)

// rectangle is where a shape is on a slide, in points. It is empty if the slide does not say it.
type rectangle struct{ left, top, width, height float64 }

// slidePicture is a picture of a slide.
type slidePicture struct {
	rectangle
	alternative string
	of          relation
	number      int
}

// slideBox are the paragraphs of a shape: blocks[first:first+count].
type slideBox struct {
	rectangle
	first, count int
	free         bool // it is not a placeholder of the layout
}

// endPicture writes the mark and the description of a picture.
func (s *slideReader) endPicture() {
	p := s.picture
	if s.picture = nil; p == nil {
		return
	}
	p.rectangle, p.number = s.at, -1
	if p.of.kind == "image" && !s.notes {
		found := drawn{beyond: true}
		if !p.of.beyond {
			found = s.from.picture(p.of.target, [2]float64{p.width, p.height})
		}
		p.number = s.from.drawings.add(found)
		s.pictures = append(s.pictures, *p)
	}
	if text := figureMark(p.number, p.alternative); text != "" && !s.notes {
		s.blocks = append(s.blocks, block{text: text})
	}
}

const (
	maxBesideSlide = 60  // points from a picture to its caption
	maxShortText   = 250 // bytes of a caption without a number
	// Of a slide so many pictures, boxes and paragraphs of each are compared.
	maxSlidePictures = 100
	maxSlideBoxes    = 500
	maxBoxParagraphs = 20
)

// placeCaptions marks the captions of the pictures of the slide: the paragraphs of a box right below, above or beside a picture that have
// a number, or a short text in a box of its own right below it.
func (s *slideReader) placeCaptions() {
	captions := map[int][]int{} // the numbers of the pictures by block
	for _, p := range s.pictures[:min(len(s.pictures), maxSlidePictures)] {
		if p.number < 0 || p.width == 0 {
			continue
		}
		best, nearest := -1, math.Inf(1)
		for _, box := range s.boxes[:min(len(s.boxes), maxSlideBoxes)] {
			at, distance := s.captionIn(box, p.rectangle)
			if at >= 0 && distance < nearest {
				best, nearest = at, distance
			}
		}
		if best >= 0 {
			captions[best] = append(captions[best], p.number)
		}
	}
	for at, numbers := range captions {
		s.blocks[at].text = s.from.drawings.caption(numbers...) + s.blocks[at].text
	}
}

// captionIn returns the block of a box that may be the caption of a picture, and how far it is from it; -1 for none.
func (s *slideReader) captionIn(box slideBox, p rectangle) (at int, distance float64) {
	if box.width == 0 || box.count == 0 {
		return -1, 0
	}
	below, across := box.top-(p.top+p.height), overlap(box.left, box.left+box.width, p.left, p.left+p.width)
	if distance = apart(box.rectangle, p); distance > maxBesideSlide {
		return -1, 0
	}
	for at := box.first; at < box.first+min(box.count, maxBoxParagraphs); at++ {
		if caption.IsFigure(s.blocks[at].text) {
			return at, distance
		}
	}
	text := s.blocks[box.first].text
	const inside = 20 // points by which the box may reach into the picture
	if box.free && box.count == 1 && below > -inside && across > min(box.width, p.width)/2 && len(text) <= maxShortText && !strings.Contains(text, figureBegin) {
		const unnumbered = 1000 // farther than any with a number
		return box.first, unnumbered + math.Abs(below)
	}
	return -1, 0
}

// overlap returns the length that two ranges have in common.
func overlap(a, b, c, d float64) float64 { return max(0, min(b, d)-max(a, c)) }

// apart returns the distance between two rectangles.
func apart(a, b rectangle) float64 {
	across := max(0, a.left-b.left-b.width, b.left-a.left-a.width)
	down := max(0, a.top-b.top-b.height, b.top-a.top-a.height)
	return math.Hypot(across, down)
}
