package lexical

import "regexp"

// framing matches phrases of English questions that say what kind of answer is wanted
// and not what it is about: "how long", "what happens", "which kind of". Texts that
// answer rarely repeat them. Huston and Croft (Evaluating verbose query processing
// techniques, SIGIR 2010) call them stop structures.
var framing = regexp.MustCompile(`(?i)\b(?:how\s+(?:long|many|much|often|far|old|big|large|small|high|tall|deep|wide|heavy|fast|soon)` +
	`|what\s+(?:happens|happened|(?:will|would|does|did)\s+happen)` +
	`|(?:what|which)\s+(?:kinds?|sorts?|types?)\s+of)\b`)

// Unframed returns an English question without phrases that only frame it.
func Unframed(question string) string { return framing.ReplaceAllLiteralString(question, " ") }
