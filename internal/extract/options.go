package extract

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ragdhq/ragd/internal/fault"
)

// Limits of the options.
const (
	maxCount         = 50 // keywords, questions, nodes
	maxTemplateBytes = 8 << 10
	maxSchemaBytes   = 16 << 10
	maxKeyBytes      = 256
	defaultCount     = 5
)

// Options say what to extract. Nil is not at all. Make them with ParseOptions.
type Options struct {
	Title     *Title
	Summary   *Summary
	Questions *Questions
	Keywords  *Keywords
	Schema    *Schema
}

// Title asks for the document's title. Without a model it is the title that the
// document has, or its first line.
type Title struct {
	Model           string
	Nodes           int    // chunks that are asked for a candidate, from the first
	NodeTemplate    string // asks for a candidate
	CombineTemplate string // asks for the best of the candidates
}

// Summary asks for summaries of each chunk and of its neighbours.
type Summary struct {
	Model            string
	Self, Prev, Next bool
	Template         string
}

// Questions asks for questions that a chunk answers.
type Questions struct {
	Model    string
	Count    int // at most
	Template string
}

// Keywords asks for a chunk's keywords. Without a model they are the words that
// it has more of than the document's other chunks.
type Keywords struct {
	Model    string
	Count    int // at most
	Template string
}

// Schema asks for fields of a given shape.
type Schema struct {
	Model        string
	JSON         string // of the JSON Schema
	Instructions string
	MetadataKey  string // under which the fields are put; empty: each by itself
	compiled     *jsonschema.Schema
}

// models returns the models by field, "" where none is needed.
func (o Options) models() map[string]string {
	models := map[string]string{}
	if o.Title != nil {
		models["title"] = o.Title.Model
	}
	if o.Summary != nil {
		models["summary"] = o.Summary.Model
	}
	if o.Questions != nil {
		models["questions"] = o.Questions.Model
	}
	if o.Keywords != nil {
		models["keywords"] = o.Keywords.Model
	}
	if o.Schema != nil {
		models["schema"] = o.Schema.Model
	}
	return models
}

// perChunk is how many questions about each chunk a language model is asked.
func (o Options) perChunk() int {
	calls := 0
	for field, model := range o.models() {
		if model != "" && field != "title" { // asks about the first chunks alone
			calls++
		}
	}
	return calls
}

// ParseOptions decodes options from their JSON form: model, and title, summary,
// questions, keywords and schema, each true, false, null or an object. Errors are
// Invalid with one violation for every option that is wrong.
func ParseOptions(raw map[string]any) (Options, error) {
	p := &problems{}
	top := reader{raw: raw, problems: p}
	top.know("model", "title", "summary", "questions", "keywords", "schema")
	model := top.text("model", "", maxKeyBytes)
	var o Options
	if r, ok := top.part("title", "model", "nodes", "nodeTemplate", "combineTemplate"); ok {
		o.Title = &Title{r.text("model", model, maxKeyBytes), r.count("nodes"), r.template("nodeTemplate"), r.template("combineTemplate")}
	}
	if r, ok := top.part("summary", "model", "summaries", "promptTemplate"); ok {
		o.Summary = &Summary{Model: r.model(model), Template: r.template("promptTemplate")}
		r.summaries(o.Summary)
	}
	if r, ok := top.part("questions", "model", "questions", "promptTemplate", "embeddingOnly"); ok {
		r.boolean("embeddingOnly") // of no meaning, here as elsewhere
		o.Questions = &Questions{r.model(model), r.count("questions"), r.template("promptTemplate")}
	}
	if r, ok := top.part("keywords", "model", "keywords", "promptTemplate"); ok {
		o.Keywords = &Keywords{r.text("model", model, maxKeyBytes), r.count("keywords"), r.template("promptTemplate")}
	}
	if r, ok := top.part("schema", "model", "schema", "instructions", "metadataKey"); ok {
		o.Schema = &Schema{Model: r.model(model), Instructions: r.text("instructions", "", maxTemplateBytes), MetadataKey: r.text("metadataKey", "", maxKeyBytes)}
		r.schema(o.Schema)
	}
	return o, p.err()
}

// problems are what is wrong with options.
type problems []fault.Violation

func (p *problems) err() error {
	if len(*p) == 0 {
		return nil
	}
	reasons := make([]string, len(*p))
	for i, v := range *p {
		reasons[i] = v.Field + ": " + v.Reason
	}
	return &fault.Error{Kind: fault.Invalid, Message: strings.Join(reasons, "; "), Violations: *p}
}

// reader takes options out of an object.
type reader struct {
	raw      map[string]any
	path     string // of the object, with a dot behind
	problems *problems
}

func (r reader) refuse(key, format string, args ...any) {
	*r.problems = append(*r.problems, fault.Violation{Field: r.path + key, Reason: fmt.Sprintf(format, args...)})
}

func (r reader) know(keys ...string) {
	for _, key := range slices.Sorted(maps.Keys(r.raw)) {
		if !slices.Contains(keys, key) {
			r.refuse(key, "is not known here; known are %s", strings.Join(keys, ", "))
		}
	}
}

// part returns the reader of what is to be extracted, or false if it is not.
func (r reader) part(key string, keys ...string) (reader, bool) {
	inner := reader{path: r.path + key + ".", problems: r.problems}
	switch value := r.raw[key].(type) {
	case nil:
		return inner, false
	case bool:
		return inner, value
	case map[string]any:
		inner.raw = value
		inner.know(keys...)
		return inner, true
	}
	r.refuse(key, "must be true, false or an object")
	return inner, false
}

func (r reader) text(key, otherwise string, most int) string {
	value, ok := r.raw[key].(string)
	switch {
	case r.raw[key] == nil:
		return otherwise
	case !ok:
		r.refuse(key, "must be a string")
	case len(value) > most:
		r.refuse(key, "is %d bytes, over the limit of %d", len(value), most)
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		r.refuse(key, "must be valid UTF-8 without null characters")
	}
	return value
}

// model is that of what cannot do without one.
func (r reader) model(otherwise string) string {
	model := r.text("model", otherwise, maxKeyBytes)
	if model == "" {
		r.refuse("model", "is needed, such as openai/gpt-5-mini: only title and keywords work without one")
	}
	return model
}

func (r reader) boolean(key string) {
	if _, ok := r.raw[key].(bool); !ok && r.raw[key] != nil {
		r.refuse(key, "must be true or false")
	}
}

func (r reader) count(key string) int {
	var value float64
	switch n := r.raw[key].(type) {
	case nil:
		return defaultCount
	case float64:
		value = n
	case int:
		value = float64(n)
	default:
		r.refuse(key, "must be a number")
		return 0
	}
	if value < 1 || value > maxCount || value != math.Trunc(value) {
		r.refuse(key, "must be a whole number between 1 and %d, got %v", maxCount, value)
	}
	return int(value)
}

func (r reader) template(key string) string {
	template := r.text(key, "", maxTemplateBytes)
	if template != "" && !strings.Contains(template, "{context}") {
		r.refuse(key, "must have {context} where the text goes")
	}
	return template
}

func (r reader) summaries(s *Summary) {
	var list []any
	switch value := r.raw["summaries"].(type) {
	case nil:
		s.Self = true
		return
	case []any:
		list = value
	case []string:
		for _, v := range value {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		r.refuse("summaries", "must be a list of some of self, prev and next")
	}
	for i, which := range list {
		switch which {
		case "self":
			s.Self = true
		case "prev":
			s.Prev = true
		case "next":
			s.Next = true
		default:
			r.refuse(fmt.Sprintf("summaries[%d]", i), "must be self, prev or next, got %v", which)
		}
	}
}

func (r reader) schema(s *Schema) {
	object, ok := r.raw["schema"].(map[string]any)
	if !ok || len(object) == 0 {
		r.refuse("schema", "is needed: a JSON Schema of an object")
		return
	}
	raw, err := json.Marshal(object)
	if err != nil || len(raw) > maxSchemaBytes {
		r.refuse("schema", "must be at most %d bytes of JSON", maxSchemaBytes)
		return
	}
	if kind := object["type"]; kind != nil && kind != "object" {
		r.refuse("schema", `must describe an object, not "type": %v`, kind)
		return
	}
	s.JSON = string(raw)
	if s.compiled, err = compile(raw); err != nil {
		r.refuse("schema", "is not a JSON Schema: %v", err)
	}
}
