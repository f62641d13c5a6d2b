package embed

import (
	"cmp"
	"strings"

	"github.com/ragdhq/ragd/internal/model/endpoint"
)

// known holds the published properties of a model: its dimension, so that an index
// can be created without a call to the provider, and the prefixes of its texts.
type known struct {
	dimension  int
	longest    int  // the greatest dimension, if greater than dimension
	shortens   bool // the endpoint makes vectors of another dimension on request
	matryoshka bool // the first values of a vector are a vector of a smaller dimension
	maxTokens  int
	// The prefixes of texts that the model was trained with.
	documentPrefix, questionPrefix string
}

const (
	askToRepresent = "Represent this sentence for searching relevant passages: "
	askToRetrieve  = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)

// wellKnownModels is keyed by the last segment of a model's name, in lower case and
// without a tag such as ":latest" or ":q8_0".
var wellKnownModels = map[string]known{
	builtinModel: {dimension: builtinDimension},

	"text-embedding-3-small": {dimension: 1536, shortens: true, maxTokens: 8191},
	"text-embedding-3-large": {dimension: 3072, shortens: true, maxTokens: 8191},
	"text-embedding-ada-002": {dimension: 1536, maxTokens: 8191},

	"all-minilm":               {dimension: 384, maxTokens: 512},
	"all-minilm-l6-v2":         {dimension: 384, maxTokens: 512},
	"all-minilm-l12-v2":        {dimension: 384, maxTokens: 512},
	"all-mpnet-base-v2":        {dimension: 768, maxTokens: 514},
	"bge-m3":                   {dimension: 1024, maxTokens: 8192},
	"bge-small-en-v1.5":        {dimension: 384, maxTokens: 512, questionPrefix: askToRepresent},
	"bge-base-en-v1.5":         {dimension: 768, maxTokens: 512, questionPrefix: askToRepresent},
	"bge-large-en-v1.5":        {dimension: 1024, maxTokens: 512, questionPrefix: askToRepresent},
	"mxbai-embed-large":        {dimension: 1024, matryoshka: true, maxTokens: 512, questionPrefix: askToRepresent},
	"mxbai-embed-large-v1":     {dimension: 1024, matryoshka: true, maxTokens: 512, questionPrefix: askToRepresent},
	"e5-small-v2":              {dimension: 384, maxTokens: 512, documentPrefix: "passage: ", questionPrefix: "query: "},
	"e5-base-v2":               {dimension: 768, maxTokens: 512, documentPrefix: "passage: ", questionPrefix: "query: "},
	"e5-large-v2":              {dimension: 1024, maxTokens: 512, documentPrefix: "passage: ", questionPrefix: "query: "},
	"multilingual-e5-small":    {dimension: 384, maxTokens: 512, documentPrefix: "passage: ", questionPrefix: "query: "},
	"multilingual-e5-base":     {dimension: 768, maxTokens: 512, documentPrefix: "passage: ", questionPrefix: "query: "},
	"multilingual-e5-large":    {dimension: 1024, maxTokens: 512, documentPrefix: "passage: ", questionPrefix: "query: "},
	"nomic-embed-text":         {dimension: 768, matryoshka: true, maxTokens: 8192, documentPrefix: "search_document: ", questionPrefix: "search_query: "},
	"nomic-embed-text-v1.5":    {dimension: 768, matryoshka: true, maxTokens: 8192, documentPrefix: "search_document: ", questionPrefix: "search_query: "},
	"embeddinggemma":           {dimension: 768, matryoshka: true, maxTokens: 2048, documentPrefix: "title: none | text: ", questionPrefix: "task: search result | query: "},
	"embeddinggemma-300m":      {dimension: 768, matryoshka: true, maxTokens: 2048, documentPrefix: "title: none | text: ", questionPrefix: "task: search result | query: "},
	"snowflake-arctic-embed2":  {dimension: 1024, matryoshka: true, maxTokens: 8192, questionPrefix: "query: "},
	"snowflake-arctic-embed-l": {dimension: 1024, maxTokens: 512, questionPrefix: askToRepresent},
	"qwen3-embedding-0.6b":     {dimension: 1024, shortens: true, maxTokens: 32768, questionPrefix: askToRetrieve},
	"qwen3-embedding-4b":       {dimension: 2560, shortens: true, maxTokens: 32768, questionPrefix: askToRetrieve},
	"qwen3-embedding-8b":       {dimension: 4096, shortens: true, maxTokens: 32768, questionPrefix: askToRetrieve},

	"embed-v4.0":                    {dimension: 1536, shortens: true, maxTokens: 128000},
	"embed-english-v3.0":            {dimension: 1024, maxTokens: 512},
	"embed-multilingual-v3.0":       {dimension: 1024, maxTokens: 512},
	"embed-english-light-v3.0":      {dimension: 384, maxTokens: 512},
	"embed-multilingual-light-v3.0": {dimension: 384, maxTokens: 512},

	"voyage-3.5":       {dimension: 1024, longest: 2048, shortens: true, maxTokens: 32000},
	"voyage-3.5-lite":  {dimension: 1024, longest: 2048, shortens: true, maxTokens: 32000},
	"voyage-3-large":   {dimension: 1024, longest: 2048, shortens: true, maxTokens: 32000},
	"voyage-code-3":    {dimension: 1024, longest: 2048, shortens: true, maxTokens: 32000},
	"voyage-3":         {dimension: 1024, maxTokens: 32000},
	"voyage-3-lite":    {dimension: 512, maxTokens: 32000},
	"voyage-finance-2": {dimension: 1024, maxTokens: 32000},
	"voyage-law-2":     {dimension: 1024, maxTokens: 16000},

	"jina-embeddings-v4":         {dimension: 2048, shortens: true, maxTokens: 32768},
	"jina-embeddings-v3":         {dimension: 1024, shortens: true, maxTokens: 8192},
	"jina-embeddings-v2-base-en": {dimension: 768, maxTokens: 8192},
	"jina-embeddings-v2-base-de": {dimension: 768, maxTokens: 8192},
	"jina-embeddings-v2-base-es": {dimension: 768, maxTokens: 8192},
	"jina-embeddings-v2-base-zh": {dimension: 768, maxTokens: 8192},

	"gemini-embedding-001": {dimension: 3072, shortens: true, maxTokens: 2048},
}

// wellKnown returns the properties of a model by its name at the provider, or the zero
// value for an unknown one.
func wellKnown(model string) known {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	name, _, _ = strings.Cut(name, ":")
	return wellKnownModels[name]
}

// declared returns the properties of a model that are declared.
func declared(m endpoint.Model) known {
	return known{
		dimension: m.Dimension, matryoshka: m.Matryoshka, maxTokens: m.MaxTokens,
		documentPrefix: m.DocumentPrefix, questionPrefix: m.QuestionPrefix,
	}
}

// knownAt returns the properties of a model at an endpoint: those that the endpoint
// declares, else the published ones.
func knownAt(target endpoint.Target) known {
	k := wellKnown(target.Model)
	if m, ok := target.Config.Describe(target.Model); ok {
		published := k
		k = declared(m)
		if k.dimension == 0 {
			k.dimension, k.longest, k.shortens = published.dimension, published.longest, published.shortens
		}
		k.maxTokens = cmp.Or(k.maxTokens, published.maxTokens)
		k.documentPrefix, k.questionPrefix = cmp.Or(k.documentPrefix, published.documentPrefix), cmp.Or(k.questionPrefix, published.questionPrefix)
	}
	switch {
	case dialects[target.Kind].shortens:
		k.shortens = k.shortens || k.matryoshka
	case target.Kind != endpoint.OpenAI: // whether one of those shortens depends on the model
		k.matryoshka, k.shortens = k.matryoshka || k.shortens, false
	}
	return k
}
