package nearest

import (
	"strings"
	"testing"
)

func TestHintNamesTheNearestName(t *testing.T) {
	t.Parallel()
	known := []string{"indexName", "queryText", "queryVector", "topK", "docs", "min-free-bytes", "k", ""}
	for name, want := range map[string]string{
		"indexname":                "; did you mean indexName?",
		"index_name":               "; did you mean indexName?",
		"querytxt":                 "; did you mean queryText?",
		"top_k":                    "; did you mean topK?",
		"DOCS":                     "; did you mean docs?",
		"dcos":                     "; did you mean docs?",
		"min-fre-bytes":            "; did you mean min-free-bytes?",
		"j":                        "",
		"temperature":              "",
		"":                         "",
		strings.Repeat("docs", 99): "",
	} {
		if got := Hint(name, known); got != want {
			t.Errorf("Hint(%q) = %q, want %q", name, got, want)
		}
	}
}
