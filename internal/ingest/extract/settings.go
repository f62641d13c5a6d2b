package extract

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Settings are the extraction options that a caller gave; nil fields are not
// extracted. Their JSON is stored in the database and has the field names of an
// upload's extract object. Options checks them and fills in the defaults.
type Settings struct {
	Model     string             `json:"model,omitempty"` // of fields without their own
	Title     *TitleSettings     `json:"title,omitempty"`
	Summary   *SummarySettings   `json:"summary,omitempty"`
	Questions *QuestionsSettings `json:"questions,omitempty"`
	Keywords  *KeywordsSettings  `json:"keywords,omitempty"`
	Schema    *SchemaSettings    `json:"schema,omitempty"`
	Context   *ContextSettings   `json:"context,omitempty"`
}

// IsZero reports whether the settings extract nothing.
func (s Settings) IsZero() bool {
	s.Model = ""
	return s == Settings{}
}

// TitleSettings are the settings of Title.
type TitleSettings struct {
	Model           *string `json:"model,omitempty"`
	Nodes           *int    `json:"nodes,omitempty"`
	NodeTemplate    string  `json:"nodeTemplate,omitempty"`
	CombineTemplate string  `json:"combineTemplate,omitempty"`
}

// SummarySettings are the settings of Summary.
type SummarySettings struct {
	Model          *string  `json:"model,omitempty"`
	Summaries      []string `json:"summaries,omitzero"` // self, prev, next; nil for self
	PromptTemplate string   `json:"promptTemplate,omitempty"`
}

// QuestionsSettings are the settings of Questions.
type QuestionsSettings struct {
	Model          *string `json:"model,omitempty"`
	Questions      *int    `json:"questions,omitempty"`
	PromptTemplate string  `json:"promptTemplate,omitempty"`
	EmbeddingOnly  *bool   `json:"embeddingOnly,omitempty"` // accepted for compatibility with other libraries, and ignored
}

// KeywordsSettings are the settings of Keywords.
type KeywordsSettings struct {
	Model          *string `json:"model,omitempty"`
	Keywords       *int    `json:"keywords,omitempty"`
	PromptTemplate string  `json:"promptTemplate,omitempty"`
}

// SchemaSettings are the settings of Schema.
type SchemaSettings struct {
	Model        *string         `json:"model,omitempty"`
	Schema       json.RawMessage `json:"schema,omitempty"` // a JSON Schema
	Instructions string          `json:"instructions,omitempty"`
	MetadataKey  string          `json:"metadataKey,omitempty"`
}

// ContextSettings are the settings of Context.
type ContextSettings struct {
	Model        *string `json:"model,omitempty"`
	BudgetTokens *int64  `json:"budgetTokens,omitempty"`
}

// ParseSettings reads settings from a caller's JSON object. Each field except model
// may also be true, for its defaults, or false or null, to leave it out. Errors are
// Invalid with one violation for every option that is unknown or of the wrong
// type. Options checks the values.
func ParseSettings(raw []byte) (Settings, error) {
	var p problems
	r := reader{problems: &p}
	if err := json.Unmarshal(raw, &r.members); err != nil {
		return Settings{}, fault.Wrap(fault.Invalid, err, "the settings are not a JSON object")
	}
	r.allow("model", "title", "summary", "questions", "keywords", "schema", "context")
	s := Settings{Model: valueOf(read[string](r, "model", aString))}
	if r, ok := r.object("title", "model", "nodes", "nodeTemplate", "combineTemplate"); ok {
		s.Title = &TitleSettings{
			Model: read[string](r, "model", aString), Nodes: read[int](r, "nodes", aCount),
			NodeTemplate: valueOf(read[string](r, "nodeTemplate", aString)), CombineTemplate: valueOf(read[string](r, "combineTemplate", aString)),
		}
	}
	if r, ok := r.object("summary", "model", "summaries", "promptTemplate"); ok {
		s.Summary = &SummarySettings{
			Model: read[string](r, "model", aString), Summaries: valueOf(read[[]string](r, "summaries", "a list of some of self, prev and next")),
			PromptTemplate: valueOf(read[string](r, "promptTemplate", aString)),
		}
	}
	if r, ok := r.object("questions", "model", "questions", "promptTemplate", "embeddingOnly"); ok {
		s.Questions = &QuestionsSettings{
			Model: read[string](r, "model", aString), Questions: read[int](r, "questions", aCount),
			PromptTemplate: valueOf(read[string](r, "promptTemplate", aString)), EmbeddingOnly: read[bool](r, "embeddingOnly", "true or false"),
		}
	}
	if r, ok := r.object("keywords", "model", "keywords", "promptTemplate"); ok {
		s.Keywords = &KeywordsSettings{
			Model: read[string](r, "model", aString), Keywords: read[int](r, "keywords", aCount),
			PromptTemplate: valueOf(read[string](r, "promptTemplate", aString)),
		}
	}
	if r, ok := r.object("schema", "model", "schema", "instructions", "metadataKey"); ok {
		s.Schema = &SchemaSettings{
			Model: read[string](r, "model", aString), Schema: valueOf(read[json.RawMessage](r, "schema", "an object")),
			Instructions: valueOf(read[string](r, "instructions", aString)), MetadataKey: valueOf(read[string](r, "metadataKey", aString)),
		}
	}
	if r, ok := r.object("context", "model", "budgetTokens"); ok {
		s.Context = &ContextSettings{Model: read[string](r, "model", aString), BudgetTokens: read[int64](r, "budgetTokens", aCount)}
	}
	return s, p.err()
}

// Names of JSON types for error messages.
const (
	aString = "a string"
	aCount  = "a whole number"
)

// reader reads the members of an object of settings.
type reader struct {
	members  map[string]json.RawMessage
	path     string // of the object, with a dot at the end
	problems *problems
}

// allow adds a violation for every member with another key.
func (r reader) allow(keys ...string) {
	for _, key := range slices.Sorted(maps.Keys(r.members)) {
		if !slices.Contains(keys, key) {
			r.problems.refuse(r.path+key, "is not known here; known are %s", strings.Join(keys, ", "))
		}
	}
}

// object returns a reader of the member with the key, an object of options with the
// given keys. The value true is an empty object. ok is false if the member is
// absent, null, false, or invalid.
func (r reader) object(key string, keys ...string) (inner reader, ok bool) {
	inner = reader{path: r.path + key + ".", problems: r.problems}
	switch raw := string(bytes.TrimSpace(r.members[key])); {
	case raw == "", raw == "null", raw == "false":
		return inner, false
	case raw == "true":
		return inner, true
	case json.Unmarshal([]byte(raw), &inner.members) == nil:
		inner.allow(keys...)
		return inner, true
	}
	r.problems.refuse(r.path+key, "must be true, false or an object")
	return inner, false
}

// read returns a member, nil if it is absent or null. If it is not a T, read adds a
// violation that says it must be wanted, and returns nil.
func read[T any](r reader, key, wanted string) *T {
	raw, ok := r.members[key]
	if !ok || string(raw) == "null" {
		return nil
	}
	value := new(T)
	if err := json.Unmarshal(raw, value); err != nil {
		r.problems.refuse(r.path+key, "must be %s", wanted)
		return nil
	}
	return value
}

// valueOf returns *p, or the zero value if p is nil.
func valueOf[T any](p *T) T {
	if p == nil {
		var none T
		return none
	}
	return *p
}
