package data

import (
	"strings"

	"github.com/spf13/pflag"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// likeFlags adds the flags of examples. The returned function is nil without one.
func likeFlags(flags *pflag.FlagSet) func() *ragdv1.Like {
	positive := flags.StringArray("like", nil, "find what is like an example, such as uri:guide.md; may be repeated")
	negative := flags.StringArray("unlike", nil, "what the chunks are to be unlike, in the form of --like; may be repeated")
	excluded := flags.StringArray("exclude", nil, "a chunk or document not to print, in the form of --like; may be repeated")
	combine := flags.String("combine", "", "how several examples are combined: average or best (default average)")
	return func() *ragdv1.Like {
		if len(*positive)+len(*negative)+len(*excluded) == 0 && *combine == "" {
			return nil
		}
		return &ragdv1.Like{Positive: examplesOf(*positive), Negative: examplesOf(*negative), Exclude: examplesOf(*excluded), Combine: *combine}
	}
}

// examplesOf returns the examples of a flag. What has none of the forms is the id of a chunk.
func examplesOf(flag []string) []*ragdv1.Example {
	examples := make([]*ragdv1.Example, len(flag))
	for n, given := range flag {
		form, value, _ := strings.Cut(given, ":")
		switch form {
		case "document":
			examples[n] = &ragdv1.Example{DocumentId: value}
		case "uri":
			examples[n] = &ragdv1.Example{Uri: value}
		case "text":
			examples[n] = &ragdv1.Example{Text: value}
		case "id":
			examples[n] = &ragdv1.Example{Id: value}
		default:
			examples[n] = &ragdv1.Example{Id: given}
		}
	}
	return examples
}
