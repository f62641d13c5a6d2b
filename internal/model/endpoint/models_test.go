package endpoint

import (
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestOnlyAllowedModelsPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		models, model string
		want          bool
	}{
		{"", "anything/at-all:8b", true},
		{"*", "anything", true},
		{"text-embedding-3-*", "text-embedding-3-small", true},
		{"text-embedding-3-*", "Text-Embedding-3-Small", true},
		{"text-embedding-3-*", "my-text-embedding-3-small", false},
		{"gpt-*-mini", "gpt-5-mini", true},
		{"gpt-*-mini", "gpt-5-mini-search", false},
		{"gpt-*-mini", "gpt-mini", false},
		{"*embed*", "nomic/nomic-embed-text:latest", true},
		{"a,b", "b", true},
		{"a,b", "ab", false},
		{"*a*a*", "a", false},
		{"", "", false},
		{"*", "two words", false},
		{"*", "a\nb", false},
		{"*", strings.Repeat("a", maxModelBytes+1), false},
		{"*", "modèle", false},
	} {
		var config Config
		if c.models != "" {
			config.Models = strings.Split(c.models, ",")
		}
		err := config.CheckModel("model", c.model)
		if (err == nil) != c.want || err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q under %q: %v", c.model, c.models, err)
		}
	}
	err := Config{Models: []string{"a-*", "b"}}.CheckModel("embeddingModel", "gpt-5-pro")
	if err == nil || !strings.Contains(err.Error(), "embeddingModel") || !strings.Contains(err.Error(), "a-*, b") {
		t.Errorf("the error does not name the field and what is allowed: %v", err)
	}
}
