package toolset

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
)

func countsText(_ *ragdv1.CountChunksRequest, res *ragdv1.CountChunksResponse) string {
	var b strings.Builder
	writeWarnings(&b, res.GetWarnings())
	fmt.Fprintf(&b, "%s of %s.\n", count(res.GetChunkCount(), "passage"), count(res.GetDocumentCount(), "document"))
	for _, f := range res.GetFacets() {
		fmt.Fprintf(&b, "\n%s: %s in %s", oneLine(f.GetField()), count(f.GetValueCount(), "different value"), count(f.GetChunkCount(), "passage"))
		if n := f.GetMissingCount(); n > 0 {
			fmt.Fprintf(&b, ", %d without it", n)
		}
		b.WriteString("\n")
		for _, v := range f.GetValues() {
			fmt.Fprintf(&b, "- %s: %d\n", facetText(v.GetValue()), v.GetChunkCount())
		}
		for _, r := range f.GetRanges() {
			fmt.Fprintf(&b, "- %s to %s: %d\n", facetText(r.GetFrom()), facetText(r.GetTo()), r.GetChunkCount())
		}
	}
	return b.String()
}

// writeGroups names the groups of an answer, in the order of their passages.
func writeGroups(b *strings.Builder, groups []*ragdv1.SourceGroup) {
	for n, g := range groups {
		b.WriteString(map[bool]string{true: "\n\nGroups, in the order of their passages: ", false: ", "}[n == 0])
		if g.GetValue() == nil {
			b.WriteString("(none)")
		} else {
			b.WriteString(facetText(g.GetValue()))
		}
		if g.ChunkCount != nil {
			fmt.Fprintf(b, " (%s in all)", count(g.GetChunkCount(), "passage"))
		}
	}
}

// facetText returns a value as JSON, as filters take it; "..." for an open side of a range.
func facetText(v *structpb.Value) string {
	if v == nil {
		return "..."
	}
	text, err := jsonmessage.Append(nil, v)
	if err != nil { // no number of JSON
		return "?"
	}
	return oneLine(string(text))
}
