package tokenizer

import "testing"

func TestModelsNameTheirEncoding(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"gpt-4o": "o200k_base", "gpt-4o-2024-08-06": "o200k_base", "gpt-4": "cl100k_base", "gpt-4-turbo": "cl100k_base",
		"gpt-4.1-mini": "o200k_base", "gpt-5.1": "o200k_base", "o3-mini": "o200k_base", "text-embedding-3-small": "cl100k_base",
		"text-davinci-003": "p50k_base", "code-davinci-edit-001": "p50k_edit", "code-davinci-002": "p50k_base", "davinci": "r50k_base", "gpt2": "gpt2",
	} {
		if got, ok := OfModel(model); !ok || got != want {
			t.Errorf("%s: %q, want %q", model, got, want)
		}
	}
}
