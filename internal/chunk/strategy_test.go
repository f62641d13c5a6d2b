package chunk

import "testing"

func TestStrategyForReadsTypeAndName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		contentType, fileName string
		strategy              Strategy
		language              string
	}{
		{"", "", Recursive, ""},
		{"text/plain; charset=utf-8", "notes.txt", Recursive, ""},
		{"text/html; charset=utf-8", "page.md", HTML, ""},
		{"TEXT/Markdown", "", Markdown, ""},
		{"application/vnd.api+json", "", JSON, ""},
		{"text/plain", "README.MD", Markdown, ""},
		{"application/octet-stream", "docs/paper.tex", LaTeX, ""},
		{"", `C:\src\main.go`, Recursive, "go"},
		{"", "https://example.org/a/page.html?x=1.json#top.md", HTML, ""},
		{"text/x-python", "script", Recursive, "python"},
		{"image/png", "x.rs", Recursive, "rust"},
		{"", ".md", Markdown, ""},
	} {
		strategy, language := StrategyFor(c.contentType, c.fileName)
		if strategy != c.strategy || language != c.language {
			t.Errorf("%q, %q: %s %q, want %s %q", c.contentType, c.fileName, strategy, language, c.strategy, c.language)
		}
	}
}

func TestStrategiesOnlyNameKnownLanguages(t *testing.T) {
	t.Parallel()
	for _, kinds := range []map[string]kind{mediaTypes, extensions} {
		for name, k := range kinds {
			if k.language != "" && !knownLanguage(k.language) {
				t.Errorf("%s has the unknown language %q", name, k.language)
			}
		}
	}
}

func TestOptionsForAddsTheRequiredOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, contentType, fileName string
		raw                         map[string]any
		check                       func(Options) bool
	}{
		{"json gets a size", "application/json", "", nil, func(o Options) bool { return o.Strategy == JSON && o.MaxSize == 4000 }},
		{"html gets headings", "text/html", "", nil, func(o Options) bool { return len(o.Headers) == 6 && o.MaxSize == 4000 }},
		{"own headings stay", "text/html", "", map[string]any{"sections": []any{[]any{"h1", "t"}}}, func(o Options) bool { return len(o.Headers) == 0 && len(o.Sections) == 1 }},
		{"a given strategy stays", "text/html", "", map[string]any{"strategy": "token"}, func(o Options) bool { return o.Strategy == Token }},
		{"code gets its language", "", "a.py", nil, func(o Options) bool { return o.Language == "python" }},
		{"own separators beat the language", "", "a.py", map[string]any{"separators": []any{"x"}}, func(o Options) bool { return o.Language == "" }},
		{"an alias is a size", "application/json", "", map[string]any{"size": 300}, func(o Options) bool { return o.MaxSize == 300 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := settingsOf(c.raw)
			if err != nil {
				t.Fatal(err)
			}
			o, err := s.OptionsFor(c.contentType, c.fileName)
			if err != nil {
				t.Fatal(err)
			}
			if !c.check(o) {
				t.Errorf("options %+v", o)
			}
		})
	}
}

func TestRetrievalOptionsFillSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		raw          map[string]any
		max, overlap int
	}{
		{"nothing given", nil, DefaultMaxSize, DefaultOverlap},
		{"tokens", map[string]any{"strategy": "token"}, DefaultMaxTokens, DefaultOverlapTokens},
		{"own overlap", map[string]any{"overlap": 10}, DefaultMaxSize, 10},
		{"own size", map[string]any{"maxSize": 100}, 100, 20},
		{"sentence", map[string]any{"strategy": "sentence"}, DefaultMaxSize, DefaultOverlap},
		{"semantic", map[string]any{"strategy": "semantic-markdown"}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := settingsOf(c.raw)
			if err != nil {
				t.Fatal(err)
			}
			o, err := s.RetrievalOptions("text/plain", "")
			if err != nil {
				t.Fatal(err)
			}
			if o.MaxSize != c.max || o.Overlap != c.overlap {
				t.Errorf("size %d, overlap %d, want %d and %d", o.MaxSize, o.Overlap, c.max, c.overlap)
			}
		})
	}
}
