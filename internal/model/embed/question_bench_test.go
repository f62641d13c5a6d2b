package embed

import (
	_ "embed"
	"strings"
	"testing"
)

//go:embed testdata/questions.txt
var typicalQuestions string

// BenchmarkQuestion embeds typical questions of 9 to 18 words with the builtin model, the
// time of one.
func BenchmarkQuestion(b *testing.B) {
	registry := NewRegistry(Config{})
	model, err := registry.Model(b.Context(), "", "builtin/hash-512")
	if err != nil {
		b.Fatal(err)
	}
	questions := strings.Split(strings.TrimSpace(typicalQuestions), "\n")
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, err := registry.EmbedQuery(b.Context(), "tenant", model, questions[n%len(questions)]); err != nil {
			b.Fatal(err)
		}
	}
}
