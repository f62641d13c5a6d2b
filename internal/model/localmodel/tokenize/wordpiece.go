package tokenize

import (
	"unicode/utf8"
)

// wordPiece splits a word into the longest pieces of a vocabulary, from its start on.
type wordPiece struct {
	vocabulary   map[string]int32
	continuation string // before all pieces of a word but the first
	unknown      int32
	maxRunes     int // of a word; longer words are unknown
	longest      int // piece in bytes
}

func newWordPiece(vocabulary map[string]int32, continuation, unknown string, maxRunes int) (*wordPiece, error) {
	w := &wordPiece{vocabulary: vocabulary, continuation: continuation, maxRunes: maxRunes}
	var ok bool
	if w.unknown, ok = vocabulary[unknown]; !ok {
		return nil, missing(unknown)
	}
	for piece := range vocabulary {
		w.longest = max(w.longest, len(piece))
	}
	return w, nil
}

func (w *wordPiece) id(token string) (int32, bool) {
	id, ok := w.vocabulary[token]
	return id, ok
}

func (w *wordPiece) tokens(out []int32, word string) []int32 {
	if utf8.RuneCountInString(word) > w.maxRunes {
		return append(out, w.unknown)
	}
	begun := len(out)
	var buffer [256]byte
	for from := 0; from < len(word); {
		prefix := buffer[:0]
		if from > 0 {
			prefix = append(prefix, w.continuation...)
		}
		end := min(len(word), from+w.longest)
		for ; end > from; end-- {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			if id, ok := w.vocabulary[string(append(prefix, word[from:end]...))]; ok {
				out = append(out, id)
				break
			}
		}
		if end == from {
			return append(out[:begun], w.unknown)
		}
		from = end
	}
	return out
}
