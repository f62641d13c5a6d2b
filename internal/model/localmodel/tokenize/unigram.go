package tokenize

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// unigram splits a text into the pieces with the greatest sum of scores (Kudo 2018).
type unigram struct {
	pieces   []piece // sorted by text
	unknown  int32
	penalty  float64 // the score of an unknown character
	fallback [256]int32
	bytes    bool // whether fallback replaces unknown characters
}

type piece struct {
	text  string
	score float64
	id    int32
}

// UnmarshalJSON decodes a list of text and score.
func (p *piece) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[2]any{&p.text, &p.score})
}

// unknownPenalty is how much less an unknown character scores than the least piece.
const unknownPenalty = 10

func newUnigram(pieces []piece, unknown *int32, bytes bool) (*unigram, error) {
	if unknown == nil || *unknown < 0 || int(*unknown) >= len(pieces) {
		return nil, errors.New("the Unigram model has no unk_id in its vocabulary")
	}
	u := &unigram{pieces: pieces, unknown: *unknown, bytes: bytes, penalty: math.Inf(1)}
	for i := range pieces {
		pieces[i].id = int32(i)
		u.penalty = min(u.penalty, pieces[i].score-unknownPenalty)
	}
	// of equal texts, the last one counts
	slices.SortFunc(pieces, func(a, b piece) int {
		if c := strings.Compare(a.text, b.text); c != 0 {
			return c
		}
		return int(b.id - a.id)
	})
	u.pieces = slices.CompactFunc(pieces, func(a, b piece) bool { return a.text == b.text })
	for i := range u.fallback {
		id, ok := u.id(fmt.Sprintf("<0x%02X>", i))
		if bytes && !ok {
			u.bytes = false
		}
		u.fallback[i] = id
	}
	return u, nil
}

func (u *unigram) id(token string) (int32, bool) {
	i, ok := slices.BinarySearchFunc(u.pieces, token, func(p piece, text string) int { return strings.Compare(p.text, text) })
	if !ok {
		return 0, false
	}
	return u.pieces[i].id, true
}

// end is the best way to reach a position of the text.
type end struct {
	score float64
	start int // of the last piece; -1 if the position is not reached
	id    int32
}

func (u *unigram) tokens(out []int32, text string) []int32 {
	ends := make([]end, len(text)+1)
	for i := range ends {
		ends[i].start = -1
	}
	ends[0].start = 0
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRuneInString(text[at:])
		known := false
		u.prefixes(text[at:], func(p piece) {
			ends[at+len(p.text)].reach(at, p.id, ends[at].score+p.score)
			known = known || len(p.text) == size
		})
		if !known {
			ends[at+size].reach(at, u.unknown, ends[at].score+u.penalty)
		}
		at += size
	}
	begun := len(out)
	for at := len(text); at > 0; at = ends[at].start {
		id := ends[at].id
		if id != u.unknown {
			out = append(out, id)
			continue
		}
		to := at
		for ends[at].start > 0 && ends[ends[at].start].id == u.unknown { // unknown characters are one token
			at = ends[at].start
		}
		out = u.unknowns(out, text[ends[at].start:to])
	}
	slices.Reverse(out[begun:])
	return out
}

func (e *end) reach(start int, id int32, score float64) {
	if e.start < 0 || score > e.score {
		*e = end{score, start, id}
	}
}

// unknowns appends the tokens of unknown characters in reverse.
func (u *unigram) unknowns(out []int32, text string) []int32 {
	if id, ok := u.id(text); ok { // several unknown characters may be a piece together
		return append(out, id)
	}
	if !u.bytes {
		return append(out, u.unknown)
	}
	for i := len(text) - 1; i >= 0; i-- {
		out = append(out, u.fallback[text[i]])
	}
	return out
}

// prefixes calls found for each piece that text begins with, the shortest first.
func (u *unigram) prefixes(text string, found func(piece)) {
	low, high := 0, len(u.pieces)
	for n := 1; n <= len(text) && low < high; n++ {
		b := text[n-1]
		// the pieces from low to high begin with text[:n-1]; those that end there are first
		low += search(u.pieces[low:high], func(p piece) bool { return len(p.text) >= n && p.text[n-1] >= b })
		high = low + search(u.pieces[low:high], func(p piece) bool { return p.text[n-1] > b })
		if low < high && len(u.pieces[low].text) == n {
			found(u.pieces[low])
		}
	}
}

// search returns the index of the first piece for which is holds, as for all after it.
func search(pieces []piece, is func(piece) bool) int {
	low, high := 0, len(pieces)
	for low < high {
		middle := (low + high) / 2
		if is(pieces[middle]) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}
