package filter

import (
	"fmt"
	"testing"
)

// benchmarks returns filters by name, from one condition to a long list.
func benchmarks() map[string]map[string]any {
	list := make([]any, 1000)
	for i := range list {
		list[i] = fmt.Sprintf("document-%04d", i)
	}
	return map[string]map[string]any{
		"conditions=1": {"category": "deck"},
		"conditions=6": {
			"category": "deck", "price": map[string]any{"$gte": 60.0, "$lt": 240.0}, "maker.site.country": "NO",
			"$or": []any{map[string]any{"tags": map[string]any{"$in": []any{"sale", "brass"}}}, map[string]any{"rating": map[string]any{"$gt": 4.5}}},
		},
		"values=1000": {"document": map[string]any{"$in": list}},
	}
}

func BenchmarkParseAndSQL(b *testing.B) {
	for name, filter := range benchmarks() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f, err := Parse(filter)
				if err != nil {
					b.Fatal(err)
				}
				f.SQL("c.metadata", NewArgs())
			}
		})
		b.Run(name+"/text", func(b *testing.B) {
			text := []byte(jsonText(filter))
			b.ReportAllocs()
			for b.Loop() {
				f, err := Parse(text)
				if err != nil {
					b.Fatal(err)
				}
				f.SQL("c.metadata", NewArgs())
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	metadata := map[string]any{
		"category": "deck", "price": 120.0, "rating": 4.5, "tags": []any{"steel", "sale"}, "document": "document-0999",
		"maker": map[string]any{"name": "Nord", "site": map[string]any{"country": "NO"}},
	}
	for name, filter := range benchmarks() {
		b.Run(name, func(b *testing.B) {
			f, err := Parse(filter)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if !f.Match(metadata) {
					b.Fatal("no match")
				}
			}
		})
	}
}
