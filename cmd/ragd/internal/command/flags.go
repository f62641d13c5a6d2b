package command

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// MessageFlag is a flag whose value is a message in JSON.
type MessageFlag struct {
	Msg   proto.Message
	Given bool
}

// String implements pflag.Value: the flag has no default.
func (f *MessageFlag) String() string { return "" }

// Type implements pflag.Value.
func (f *MessageFlag) Type() string { return "JSON" }

// Set implements pflag.Value.
func (f *MessageFlag) Set(text string) error {
	f.Given = true
	if err := jsonmessage.Unmarshal([]byte(text), f.Msg); err != nil {
		return errors.New(fault.Public(err)) // without the library's text
	}
	return nil
}

// ObjectFlag adds a flag whose value is a JSON object. The returned function gives nil if
// the flag was not given.
func ObjectFlag(flags *pflag.FlagSet, name, usage string) func() *structpb.Struct {
	f := &MessageFlag{Msg: &structpb.Struct{}}
	flags.Var(f, name, usage)
	return func() *structpb.Struct {
		if !f.Given {
			return nil
		}
		return f.Msg.(*structpb.Struct)
	}
}

// ContextUsage is the usage of the flag --context.
const ContextUsage = "request context, such as {\"topK\": 3}: known keys, and those that the tenant declares"

// ContextFlag adds --context. The returned function gives a context for calls with that request
// context.
func ContextFlag(flags *pflag.FlagSet) func(context.Context) context.Context {
	given := ObjectFlag(flags, "context", ContextUsage)
	return func(ctx context.Context) context.Context {
		if given() == nil {
			return ctx
		}
		ctx, info := connect.NewClientContext(ctx)
		info.RequestHeader().Set(client.ContextHeader, output.CompactJSON(given()))
		return ctx
	}
}

// FilterFlags adds --filter, with this usage, and --prefix. The returned function gives the
// filter that both make together, nil if neither was given.
func FilterFlags(flags *pflag.FlagSet, usage string) func() *structpb.Struct {
	filter := ObjectFlag(flags, "filter", usage)
	prefix := flags.String("prefix", "", "only documents whose uri begins so, such as handbook/")
	return func() *structpb.Struct {
		if *prefix == "" {
			return filter()
		}
		within := Object("$uri", structpb.NewStructValue(Object("$startsWith", structpb.NewStringValue(*prefix))))
		given := filter()
		if given == nil {
			return within
		}
		both := []*structpb.Value{structpb.NewStructValue(within), structpb.NewStructValue(given)}
		return Object("$and", structpb.NewListValue(&structpb.ListValue{Values: both}))
	}
}

// Object returns an object with one field.
func Object(key string, value *structpb.Value) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{key: value}}
}

// ChunkingFlags adds the flags for chunking. The returned function gives nil if none of
// them was given.
func ChunkingFlags(flags *pflag.FlagSet) func() *ragdv1.Chunking {
	chunking := &ragdv1.Chunking{}
	options := &MessageFlag{Msg: chunking}
	strategy := flags.String("strategy", "", "how to cut: recursive, markdown, ... (default by content type)")
	maxSize := flags.Int32("max-size", 0, "upper bound of a chunk (default of the strategy)")
	overlap := flags.Int32("overlap", 0, "wanted repetition between neighbours (default of the strategy)")
	hidden := flags.Bool("include-hidden", false, "read also what a file does not show: comments, front matter, hidden and deleted text, hidden sheets, rows, columns and slides")
	flags.Var(options, "chunking", "further options of the strategy, such as {\"headers\": [{\"marker\": \"#\", \"key\": \"title\"}]}")
	return func() *ragdv1.Chunking {
		given := options.Given
		if flags.Changed("strategy") {
			given, chunking.Strategy = true, *strategy
		}
		if flags.Changed("max-size") {
			given, chunking.MaxSize = true, maxSize
		}
		if flags.Changed("overlap") {
			given, chunking.Overlap = true, overlap
		}
		if flags.Changed("include-hidden") {
			given, chunking.IncludeHidden = true, hidden
		}
		if !given {
			return nil
		}
		return chunking
	}
}

// RerankerFlag adds --rerank. The returned function gives nil if the flag was not given.
func RerankerFlag(flags *pflag.FlagSet, usage string) func() *ragdv1.Reranker {
	value := flags.String("rerank", "", usage+": KIND, MODEL or KIND:MODEL, such as lexical or llm:openai/gpt-5-mini")
	return func() *ragdv1.Reranker {
		if *value == "" {
			return nil
		}
		kind, model, _ := strings.Cut(*value, ":")
		if strings.Contains(kind, "/") { // a model without a kind; its name may contain a colon
			kind, model = "", *value
		}
		return &ragdv1.Reranker{Kind: kind, Model: model}
	}
}

// LimitFlag adds --limit, which bounds the items that a list prints; 0 is all.
func LimitFlag(flags *pflag.FlagSet) *int {
	return flags.Int("limit", 0, "print at most this many (default all)")
}

// YesFlag adds --yes, which skips the confirmation.
func YesFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("yes", false, "do not ask")
}

// IndexFlag adds --index.
func IndexFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("index", "", "name of the index (default the tenant's only index)")
}

// ParseTime parses a time or a date, in UTC. It returns nil for an empty text.
func ParseTime(name, text string) (*timestamppb.Timestamp, error) {
	if text == "" {
		return nil, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return timestamppb.New(t), nil
		}
	}
	return nil, misuse.Errorf("--%s %q is no time: give a date, such as 2026-11-01, or RFC 3339, such as 2026-11-01T08:00:00Z", name, text)
}

// Given returns the address of a flag's value, nil if the flag was not given.
func Given[T any](flags *pflag.FlagSet, name string, value *T) *T {
	if !flags.Changed(name) {
		return nil
	}
	return value
}

// AllowedNames returns the list of the names, nil for none.
func AllowedNames(names []string) *ragdv1.AllowedNames {
	if len(names) == 0 {
		return nil
	}
	return &ragdv1.AllowedNames{Names: names}
}

// Exclusive returns an error about the command line if more than one of the flags is given.
func Exclusive(flags *pflag.FlagSet, names ...string) error {
	given := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !flags.Changed(name) })
	if len(given) < 2 {
		return nil
	}
	return misuse.Errorf("--%s and --%s exclude each other", given[0], given[1])
}
