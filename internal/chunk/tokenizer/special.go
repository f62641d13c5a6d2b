package tokenizer

import (
	"slices"
	"strings"
)

// specialTokens has the special tokens of each encoding.
var specialTokens = map[string][]string{
	"cl100k_base": {"<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|endofprompt|>"},
	"o200k_base":  {"<|endoftext|>", "<|endofprompt|>"},
	"p50k_edit":   {"<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"},
	"p50k_base":   {"<|endoftext|>"},
	"r50k_base":   {"<|endoftext|>"},
	"gpt2":        {"<|endoftext|>"},
}

// SpecialTokens returns the special tokens of an encoding.
func SpecialTokens(encoding string) []string { return specialTokens[encoding] }

// NamedSpecials returns the special tokens that a list names, or all of the encoding's
// if the list has "all".
func NamedSpecials(encoding string, list []string) []string {
	if slices.Contains(list, "all") {
		return specialTokens[encoding]
	}
	return list
}

// Each calls yield with the end of every token of text[from:to], in order. The given
// special tokens are one token each; others are ordinary text. It ends soon after yield
// returned false.
func (e *Encoding) Each(text string, from, to int, specials []string, yield func(end int) bool) {
	next := make([]int, len(specials)) // position of the next occurrence of each, or -1
	for i, s := range specials {
		next[i] = indexFrom(text[:to], s, from)
	}
	for from < to {
		at, length := to, 0
		for i, s := range specials {
			if next[i] >= 0 && next[i] < from {
				next[i] = indexFrom(text[:to], s, from)
			}
			if next[i] >= 0 && next[i] < at {
				at, length = next[i], len(s)
			}
		}
		if !e.each(text, from, at, yield) || length > 0 && !yield(at+length) {
			return
		}
		from = at + length
	}
}

// Count returns the number of tokens of a text.
func (e *Encoding) Count(text string, specials []string) int {
	n := 0
	e.Each(text, 0, len(text), specials, func(int) bool { n++; return true })
	return n
}

// indexFrom returns the first index of s in text[from:], counted from the start
// of text, or -1.
func indexFrom(text, s string, from int) int {
	if i := strings.Index(text[from:], s); i >= 0 {
		return from + i
	}
	return -1
}
