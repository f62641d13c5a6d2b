// Package tokenize splits texts into the tokens of transformer models, as the Hugging Face
// library tokenizers does: it reads tokenizer.json, or vocab.txt of older BERT models.
//
// It has what encoder models for retrieval use: WordPiece, Unigram (SentencePiece) and
// byte-level BPE. Everything else in a tokenizer.json is an error when it is read.
package tokenize

import (
	"slices"
	"strings"
)

// Tokenizer splits texts into tokens. Immutable and safe for concurrent use.
type Tokenizer struct {
	added      added // found before the text is normalised
	normalized added // found after that
	normalizer step
	split      splitter
	model      model
	single     []part
	pair       []part
}

// model splits a word, or a text that is not split into words, into tokens.
type model interface {
	tokens(out []int32, word string) []int32
	id(token string) (int32, bool)
}

// step changes a text.
type step func(string) string

// splitter calls word for each word of a text, as the model expects it. first says that the text
// begins the input.
type splitter func(text string, first bool, word func(string))

// part is a token of a template, or a text if text is not 0.
type part struct {
	text int
	ids  []int32
}

// Encoding is the tokens of a text, or of two.
type Encoding struct {
	Tokens []int32
	// Second is the index of the first token of the second text, with its type, or 0.
	Second int
	// Truncated says that tokens were left out.
	Truncated bool
}

// Encode returns the tokens of a text with special tokens: at most limit, the last ones of the
// text are left out.
func (t *Tokenizer) Encode(text string, limit int) Encoding {
	tokens := t.tokens(text)
	room := max(0, limit-special(t.single))
	return t.assemble(t.single, tokens[:min(room, len(tokens))], nil, len(tokens) > room)
}

// Pair returns the tokens of two texts with special tokens: at most limit, the last ones of the
// longer text are left out first.
func (t *Tokenizer) Pair(a, b string, limit int) Encoding {
	first, second := t.tokens(a), t.tokens(b)
	x, y := share(len(first), len(second), max(0, limit-special(t.pair)))
	return t.assemble(t.pair, first[:x], second[:y], x+y < len(first)+len(second))
}

// share returns how many tokens of two texts remain of limit ("longest first").
func share(a, b, limit int) (int, int) {
	if a+b <= limit {
		return a, b
	}
	if a > b {
		b, a = share(b, a, limit)
		return a, b
	}
	if a > limit {
		b = a
	} else {
		b = max(a, limit-a)
	}
	if a+b > limit {
		a = limit / 2
		b = a + limit%2
	}
	return a, b
}

func special(template []part) int {
	n := 0
	for _, p := range template {
		n += len(p.ids)
	}
	return n
}

func (t *Tokenizer) assemble(template []part, first, second []int32, truncated bool) Encoding {
	out := Encoding{Truncated: truncated, Tokens: make([]int32, 0, len(first)+len(second)+special(template))}
	for _, p := range template {
		switch p.text {
		case 0:
			out.Tokens = append(out.Tokens, p.ids...)
		case 1:
			out.Tokens = append(out.Tokens, first...)
		case 2:
			out.Second = len(out.Tokens)
			out.Tokens = append(out.Tokens, second...)
		}
	}
	return out
}

// tokens returns the tokens of a text without special tokens.
func (t *Tokenizer) tokens(text string) []int32 {
	var out []int32
	text = strings.ToValidUTF8(text, "\ufffd")
	t.added.split(text, func(piece string, start int, id int32) {
		if id >= 0 {
			out = append(out, id)
			return
		}
		spaced := beginsWithSpace(piece)
		if t.normalizer != nil {
			piece = t.normalizer(piece)
		}
		stripped := spaced && !beginsWithSpace(piece)
		t.normalized.split(piece, func(piece string, at int, id int32) {
			if id >= 0 {
				out = append(out, id)
				return
			}
			t.split(piece, start+at == 0 && !stripped, func(word string) { out = t.model.tokens(out, word) })
		})
	})
	return out
}

// added are tokens that are found in the text itself, by their first byte.
type added map[byte][]addedToken

type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	Special    bool   `json:"special"`
	SingleWord bool   `json:"single_word"`
	LeftStrip  bool   `json:"lstrip"`
	RightStrip bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
}

// put adds a token. The longest tokens with a first byte come first.
func (a added) put(token addedToken) {
	b := token.Content[0]
	a[b] = append(a[b], token)
	slices.SortStableFunc(a[b], func(x, y addedToken) int { return len(y.Content) - len(x.Content) })
}

// split calls found for the text between tokens, with id -1, and for the tokens.
func (a added) split(text string, found func(piece string, start int, id int32)) {
	from := 0
	for i := 0; i < len(text) && len(a) > 0; i++ {
		token, ok := a.at(text, i)
		if !ok {
			continue
		}
		start, end := i, i+len(token.Content)
		if token.LeftStrip {
			start = from + len(trimRight(text[from:i]))
		}
		if token.RightStrip {
			end = len(text) - len(trimLeft(text[end:]))
		}
		if start > from {
			found(text[from:start], from, -1)
		}
		found(text[start:end], start, token.ID)
		from, i = end, end-1
	}
	if from < len(text) {
		found(text[from:], from, -1)
	}
}

// at returns the longest token at a position.
func (a added) at(text string, i int) (addedToken, bool) {
	for _, token := range a[text[i]] {
		if !strings.HasPrefix(text[i:], token.Content) {
			continue
		}
		if token.SingleWord && (endsInWord(text[:i]) || beginsWithWord(text[i+len(token.Content):])) {
			continue
		}
		return token, true
	}
	return addedToken{}, false
}
