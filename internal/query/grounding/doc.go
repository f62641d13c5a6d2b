// Package grounding checks whether the sentences of an answer rest on given passages, by rules and without a model.
//
// Each sentence is compared with the sentences of the passages, by the terms of keyword search, and so are what can be compared
// exactly: numbers with their units, dates, names and negations. A number, a date or a name that no passage has makes a sentence
// unsupported, however much of the rest is there. Languages are compared with themselves: an answer in another language than its
// passages is not supported, but for what needs no translation.
//
//	split     the sentences of a text, with the bytes where they stand
//	factsOf   numbers, dates and names of a text
//	matcher   which facts the passages have
//	support   the sentences of a passage that have most of what a sentence says
package grounding

// Limits of a check. Those who call Check keep them.
const (
	MaxAnswerBytes = 64 << 10
	MaxSentences   = 1000 // of an answer
	MaxSources     = 100
	MaxSourceBytes = 1 << 20 // of all sources together
	MaxTitleBytes  = 4 << 10
)
