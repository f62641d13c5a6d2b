package data

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// budgetFlags adds the flags of a budget. The returned function returns their values, nil and "" for none.
func budgetFlags(flags *pflag.FlagSet, what string) func() (maxTokens *int32, encoding string) {
	most := flags.Int32("max-tokens", 0, "most tokens of "+what+", 512 to 1000000: it is then cut at the end of a sentence (default no limit)")
	encoding := flags.String("encoding", "", "encoding that counts the tokens, such as o200k_base (default cl100k_base)")
	return func() (*int32, string) {
		if !flags.Changed("max-tokens") {
			return nil, *encoding
		}
		return most, *encoding
	}
}

// noteBudget says what an answer takes of its budget, and what was left out. It says nothing for nil.
func noteBudget(p *command.Program, b *ragdv1.Budget) {
	if b == nil {
		return
	}
	note := fmt.Sprintf("%d of %d tokens (%s)", b.GetUsedTokens(), b.GetMaxTokens(), b.GetEncodingName())
	if b.GetCutId() != "" {
		note += "; the last chunk is cut at the end of a sentence"
	}
	if n := b.GetOmittedCount(); n > 0 {
		note += fmt.Sprintf("; %d more chunks do not fit", n)
	}
	if n := b.GetOmittedTokens(); n > 0 {
		note += fmt.Sprintf("; left out: %d tokens", n)
	}
	var names []string
	for _, omitted := range b.GetOmitted() {
		names = append(names, fmt.Sprintf("%s (%.4f, %d tokens)", output.OneLine(omitted.GetUri()), omitted.GetScore(), omitted.GetTokens()))
	}
	if len(names) > 0 {
		note += ": " + strings.Join(names, ", ")
	}
	output.Note(p.Out.Stderr, "%s", note)
}
