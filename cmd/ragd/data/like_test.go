package data

import (
	"testing"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func TestExamplesOfFlags(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("query", pflag.ContinueOnError)
	like := likeFlags(flags)
	if like() != nil {
		t.Error("there are examples without a flag")
	}
	err := flags.Parse([]string{"--like", "uri:a.md", "--like", "text:a, b: c", "--unlike", "document:d", "--unlike", "id:uri:x", "--exclude", "d#0:1", "--combine", "best"})
	if err != nil {
		t.Fatal(err)
	}
	want := &ragdv1.Like{
		Positive: []*ragdv1.Example{{Uri: "a.md"}, {Text: "a, b: c"}}, Negative: []*ragdv1.Example{{DocumentId: "d"}, {Id: "uri:x"}},
		Exclude: []*ragdv1.Example{{Id: "d#0:1"}}, Combine: "best",
	}
	if got := like(); !proto.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
