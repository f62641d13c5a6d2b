package embed_test

import (
	"testing"

	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestModelNames(t *testing.T) {
	t.Parallel()
	with := embed.NewRegistry(embed.Config{Endpoints: endpoint.NewDirectory(nil, endpoint.NewEndpoint("openai", endpoint.OpenAI, endpoint.Config{APIKey: "k"}))})
	without := embed.NewRegistry(embed.Config{})
	for _, tc := range []struct {
		name      string
		registry  *embed.Registry
		dimension int
		kind      fault.Kind
		message   string
	}{
		{"builtin/hash-512", without, 512, 0, ""},
		{"openai/text-embedding-3-small", with, 1536, 0, ""},
		{"openai/text-embedding-3-large", with, 3072, 0, ""},
		{"openai/BAAI/bge-m3", with, 1024, 0, ""},
		{"openai/nomic-embed-text:v1.5", with, 768, 0, ""},
		{"openai/unheard-of", with, 0, 0, ""},
		{"builtin/hash-256", without, 0, fault.Invalid, `embeddingModel: builtin has no model "hash-256", only builtin/hash-512`},
		{"openai/text-embedding-3-small", without, 0, fault.Precondition, "embeddingModel: the endpoint openai is not configured on this server; its operator sets RAGD_OPENAI_API_KEY or RAGD_OPENAI_BASE_URL, or the tenant makes an endpoint of this name"},
		{"acme/model", with, 0, fault.Invalid, `embeddingModel: there is no endpoint "acme"; the operator of this server provides builtin, openai, and a tenant may make its own`},
		{"hash-512", with, 0, fault.Invalid, `embeddingModel: must be endpoint/model, such as openai/text-embedding-3-small or builtin/hash-512, got "hash-512"`},
		{"openai/", with, 0, fault.Invalid, `embeddingModel: must be endpoint/model, such as openai/text-embedding-3-small or builtin/hash-512, got "openai/"`},
		{"", with, 0, fault.Invalid, `embeddingModel: must be endpoint/model, such as openai/text-embedding-3-small or builtin/hash-512, got ""`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			model, err := tc.registry.Model(t.Context(), "acme", tc.name)
			if tc.message != "" {
				if fault.KindOf(err) != tc.kind || fault.Public(err) != tc.message {
					t.Errorf("%v %q", fault.KindOf(err), fault.Public(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if model.Name != tc.name || model.Dimension != tc.dimension {
				t.Errorf("%s with %d dimensions, want %d", model.Name, model.Dimension, tc.dimension)
			}
		})
	}
}

func TestWithDimension(t *testing.T) {
	t.Parallel()
	registry := embed.NewRegistry(embed.Config{Endpoints: endpoint.NewDirectory(nil, endpoint.NewEndpoint("openai", endpoint.OpenAI, endpoint.Config{APIKey: "k"}))})
	for _, tc := range []struct {
		model   string
		ask     int
		want    int
		message string
	}{
		{"openai/text-embedding-3-small", 0, 1536, ""},
		{"openai/text-embedding-3-small", 256, 256, ""},
		{"openai/text-embedding-3-small", 2000, 0, "dimension: openai/text-embedding-3-small makes vectors of at most 1536 values, not 2000"},
		{"openai/bge-m3", 1024, 1024, ""},
		{"openai/bge-m3", 512, 0, "dimension: openai/bge-m3 makes vectors of 1024 values, not 512"},
		{"builtin/hash-512", 128, 0, "dimension: builtin/hash-512 makes vectors of 512 values, not 128"},
		{"openai/unheard-of", 77, 77, ""},
		{"openai/unheard-of", -1, 0, "dimension: must be between 1 and 16000, got -1"},
		{"openai/unheard-of", 16001, 0, "dimension: must be between 1 and 16000, got 16001"},
	} {
		model, err := registry.Model(t.Context(), "acme", tc.model)
		if err != nil {
			t.Fatal(err)
		}
		got, err := model.WithDimension(tc.ask)
		if tc.message != "" {
			if fault.KindOf(err) != fault.Invalid || fault.Public(err) != tc.message {
				t.Errorf("%s with %d: %v", tc.model, tc.ask, err)
			}
			continue
		}
		if err != nil || got.Dimension != tc.want {
			t.Errorf("%s with %d: %v, %v", tc.model, tc.ask, got, err)
		}
	}
}

func TestEmbedRefusesBlankTexts(t *testing.T) {
	t.Parallel()
	registry := embed.NewRegistry(embed.Config{})
	model, err := registry.Model(t.Context(), "acme", "builtin/hash-512")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.Embed(t.Context(), "acme", []string{"a", " \n"}); fault.Public(err) != "texts: text 1 is blank; there is nothing to embed" {
		t.Error(err)
	}
	if _, err := registry.EmbedQuery(t.Context(), "acme", model, ""); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if v, err := model.Embed(t.Context(), "acme", nil); err != nil || v != nil {
		t.Errorf("no texts: %v, %v", v, err)
	}
	if v, err := registry.EmbedQuery(t.Context(), "acme", model, "tide table"); err != nil || len(v) != 512 {
		t.Errorf("%d values, %v", len(v), err)
	}
}
