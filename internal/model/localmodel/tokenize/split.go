package tokenize

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// rawSplitter is a pre_tokenizer in tokenizer.json.
type rawSplitter struct {
	Type          string
	Pretokenizers []rawSplitter
	// Of Metaspace and ByteLevel.
	Replacement    string
	AddPrefixSpace *bool  `json:"add_prefix_space"`
	PrependScheme  string `json:"prepend_scheme"`
	Split          *bool
	UseRegex       *bool `json:"use_regex"`
}

func newSplitter(data json.RawMessage) (splitter, error) {
	if absent(data) {
		return func(text string, _ bool, word func(string)) { word(text) }, nil
	}
	var raw rawSplitter
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	return raw.splitter()
}

func (r rawSplitter) splitter() (splitter, error) {
	switch r.Type {
	case "Sequence":
		return r.sequence()
	case "BertPreTokenizer":
		return bertWords, nil
	case "WhitespaceSplit":
		return spaced, nil
	case "Metaspace":
		return r.metaspace()
	case "ByteLevel":
		if r.UseRegex != nil && !*r.UseRegex {
			return nil, errors.New("the pre_tokenizer ByteLevel without use_regex is not supported")
		}
		return byteLevel(r.AddPrefixSpace == nil || *r.AddPrefixSpace), nil
	}
	return nil, fmt.Errorf("the pre_tokenizer %q is not supported", r.Type)
}

func (r rawSplitter) sequence() (splitter, error) {
	out := splitter(func(text string, _ bool, word func(string)) { word(text) })
	for _, inner := range r.Pretokenizers {
		next, err := inner.splitter()
		if err != nil {
			return nil, err
		}
		before := out
		out = func(text string, first bool, word func(string)) {
			begun := false
			before(text, first, func(piece string) {
				next(piece, first && !begun && strings.HasPrefix(text, piece), word)
				begun = true
			})
		}
	}
	return out, nil
}

// spaced splits at white space.
func spaced(text string, _ bool, word func(string)) {
	for _, w := range strings.FieldsFunc(text, unicode.IsSpace) {
		word(w)
	}
}

// bertWords splits at white space and around each punctuation mark.
func bertWords(text string, _ bool, word func(string)) {
	from := 0
	for i, r := range text {
		space := unicode.IsSpace(r)
		if !space && !punctuation(r) {
			continue
		}
		if from < i {
			word(text[from:i])
		}
		from = i + utf8.RuneLen(r)
		if !space {
			word(text[i:from])
		}
	}
	if from < len(text) {
		word(text[from:])
	}
}

// punctuation reports whether BERT splits around a rune: it counts all ASCII symbols as well.
func punctuation(r rune) bool {
	if r < utf8.RuneSelf {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		return r > ' ' && r != 0x7f && !letter && (r < '0' || r > '9')
	}
	return unicode.Is(unicode.P, r)
}

// metaspace replaces spaces by a visible mark, and splits before the marks.
func (r rawSplitter) metaspace() (splitter, error) {
	mark := r.Replacement
	if utf8.RuneCountInString(mark) != 1 {
		return nil, fmt.Errorf("the replacement of the pre_tokenizer Metaspace must be one character, is %q", mark)
	}
	scheme := r.PrependScheme
	if scheme == "" {
		scheme = "always"
		if r.AddPrefixSpace != nil && !*r.AddPrefixSpace {
			scheme = "never"
		}
	}
	return func(text string, first bool, word func(string)) {
		text = strings.ReplaceAll(text, " ", mark)
		if (scheme == "always" || scheme == "first" && first) && !strings.HasPrefix(text, mark) {
			text = mark + text
		}
		if r.Split != nil && !*r.Split {
			word(text)
			return
		}
		from := 0
		for i := range text {
			if i > from && strings.HasPrefix(text[i:], mark) {
				word(text[from:i])
				from = i
			}
		}
		if from < len(text) {
			word(text[from:])
		}
	}, nil
}

func endsInWord(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && wordRune(r)
}

func beginsWithWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && wordRune(r)
}

func wordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}
