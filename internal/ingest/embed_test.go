package ingest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// texts returns the texts that the provider was asked to embed after the first so many, sorted.
func (f fixture) texts(after int) (texts []string) {
	for _, r := range f.provider.Requests() {
		inputs, _ := r.Body["input"].([]any)
		for _, input := range inputs {
			texts = append(texts, fmt.Sprint(input))
		}
	}
	return slices.Sorted(slices.Values(texts[after:]))
}

// What is embedded of a chunk begins with the title of its document and the headings above it.
func TestHeadingsAboveAreEmbedded(t *testing.T) {
	t.Parallel()
	f := setup(t)
	size, none := int32(200), int32(0)
	doc := func(middle string) *ragdv1.UploadDocumentRequest {
		d := upload("guide", "# Guide\n\n## First\n\n"+strings.Repeat("The gate opens at six. ", 20)+"\n\n## "+middle+"\n\n"+strings.Repeat("The berth is long. ", 20))
		d.ContentType, d.Title, d.Chunking = "text/markdown", "Guide", &ragdv1.Chunking{MaxSize: &size, Overlap: &none}
		return d
	}
	before := f.embedded()
	f.Upload(t, doc("Second"))
	chunks := len(f.texts(before))
	of := func(texts []string, prefix string) (n int) {
		for _, text := range texts {
			if strings.HasPrefix(text, prefix) {
				n++
			}
		}
		return n
	}
	all := f.texts(before)
	if first, second := of(all, "Guide\nFirst\n\n"), of(all, "Guide\nSecond\n\n"); first < 2 || second < 2 || first+second != chunks-1 { // one is the title
		t.Fatalf("%d chunks of the first section and %d of the second have their headings, of %q", first, second, all)
	}

	before = f.embedded()
	d := f.Upload(t, doc("Third"))
	if again := f.texts(before); of(again, "Guide\nThird\n\n") != len(again) || len(again) != of(all, "Guide\nSecond\n\n") {
		t.Errorf("with another heading these were embedded again: %q", again)
	}

	before = f.embedded()
	i, err := f.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/another-model"})
	if err != nil {
		t.Fatal(err)
	}
	f.Await(t, "docs", i.ReembedJobId, d.DocumentId)
	if again := f.texts(before); of(again, "Guide\nFirst\n\n") < 2 || of(again, "Guide\nThird\n\n") < 2 {
		t.Errorf("the other model was asked for %q", again)
	}
}
