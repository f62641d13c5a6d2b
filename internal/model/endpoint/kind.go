package endpoint

import (
	"regexp"
	"strings"
)

// Kind is the API of an endpoint.
type Kind string

// The kinds.
const (
	OpenAI Kind = "openai-compatible" // OpenAI, vLLM, LM Studio, LocalAI, llama.cpp, ...
	Cohere Kind = "cohere"
	Voyage Kind = "voyage"
	Jina   Kind = "jina"
	TEI    Kind = "tei" // text-embeddings-inference, which serves one model
	Ollama Kind = "ollama"
	Gemini Kind = "gemini"
)

// Use is what a model is asked for.
type Use string

// The uses.
const (
	Embed  Use = "embed"
	Chat   Use = "chat"
	Rerank Use = "rerank"
)

// Kinds are all kinds.
var Kinds = []Kind{OpenAI, Cohere, Voyage, Jina, TEI, Ollama, Gemini}

// traits are the properties of a kind.
type traits struct {
	base      string // the provider's public address, empty if it has none
	uses      []Use
	keyHeader string // header of the key; empty for a bearer token
	models    string // path of the list of models, empty if there is none
}

var kinds = map[Kind]traits{
	OpenAI: {base: "https://api.openai.com/v1", uses: []Use{Embed, Chat}, models: "/models"},
	Cohere: {base: "https://api.cohere.com", uses: []Use{Embed, Chat, Rerank}, models: "/v1/models?page_size=1000"},
	Voyage: {base: "https://api.voyageai.com", uses: []Use{Embed, Rerank}},
	Jina:   {base: "https://api.jina.ai", uses: []Use{Embed, Rerank}},
	TEI:    {uses: []Use{Embed, Rerank}, models: "/info"},
	Ollama: {base: "http://localhost:11434", uses: []Use{Embed, Chat}, models: "/api/tags"},
	Gemini: {base: "https://generativelanguage.googleapis.com", uses: []Use{Embed, Chat}, keyHeader: "x-goog-api-key", models: "/v1beta/models?pageSize=1000"},
}

// Known reports whether there is such a kind.
func (k Kind) Known() bool { return kinds[k].uses != nil }

// PublicURL returns the public address of the kind's provider, or an empty string if it has
// none.
func (k Kind) PublicURL() string { return kinds[k].base }

var (
	versionAtEnd   = regexp.MustCompile(`/v[0-9]+(beta)?$`)
	versionAtStart = regexp.MustCompile(`^/v[0-9]+(beta)?/`)
)

// join returns the address of a path. The base of an OpenAI-compatible endpoint ends with
// its version. The paths of the others have one, which that of a base replaces.
func (k Kind) join(base, path string) string {
	base = strings.TrimRight(base, "/")
	version := versionAtEnd.FindString(base)
	if k == OpenAI || k == "" || version == "" {
		return base + path
	}
	base = strings.TrimSuffix(base, version)
	if old := versionAtStart.FindString(path); old != "" {
		return base + version + "/" + path[len(old):]
	}
	return base + path
}
