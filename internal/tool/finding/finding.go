// Package finding says in a line of text what a research found of a part of its question. The tool and the command share it.
package finding

import (
	"fmt"
	"strings"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// Line returns what was found of a part: whether it was, the numbers of its passages from 1, what no passage states, and which of its
// words none has. Text of documents and questions goes through clean.
func Line(p *ragdv1.ResearchPart, clean func(string) string) string {
	var b strings.Builder
	b.WriteString("not found")
	if p.GetFound() {
		b.Reset()
		b.WriteString("found")
	}
	for i, at := range p.GetPassages() {
		separator := " >"
		if i == 0 {
			separator = ":"
		}
		fmt.Fprintf(&b, "%s [%d]", separator, at+1)
	}
	var unstated []string
	for _, r := range p.GetRelations() {
		if !r.GetStated() {
			unstated = append(unstated, clean(r.GetText()))
		}
	}
	write(&b, "not stated", unstated)
	write(&b, "nothing about", cleaned(p.GetMissing(), clean))
	return b.String()
}

func cleaned(all []string, clean func(string) string) (texts []string) {
	for _, text := range all {
		texts = append(texts, clean(text))
	}
	return texts
}

func write(b *strings.Builder, what string, texts []string) {
	if len(texts) > 0 {
		fmt.Fprintf(b, "; %s: %s", what, strings.Join(texts, ", "))
	}
}
