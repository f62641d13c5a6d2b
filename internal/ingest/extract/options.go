package extract

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Limits of the options.
const (
	maxCount         = 50 // keywords, questions, nodes
	maxTemplateBytes = 8 << 10
	maxSchemaBytes   = 16 << 10
	maxKeyBytes      = 256
	defaultCount     = 5
)

// Options select the fields to extract; nil fields are not extracted. They are
// checked and have the defaults filled in. Settings.Options returns them.
type Options struct {
	Title     *Title
	Summary   *Summary
	Questions *Questions
	Keywords  *Keywords
	Schema    *Schema
	Context   *Context
}

// Title selects the document's title. Without a model it is the title in the
// request, or the first line of the document.
type Title struct {
	Model           string
	Nodes           int    // number of chunks, from the first, that yield a candidate
	NodeTemplate    string // prompt for a candidate
	CombineTemplate string // prompt for the best candidate
}

// Summary selects summaries of each chunk and of its neighbours.
type Summary struct {
	Model            string
	Self, Prev, Next bool
	Template         string
}

// Questions selects questions that a chunk answers.
type Questions struct {
	Model    string
	Count    int // at most
	Template string
}

// Keywords selects a chunk's keywords. Without a model they are the words that are
// more frequent in it than in the document's other chunks.
type Keywords struct {
	Model    string
	Count    int // at most
	Template string
}

// Schema selects the fields of a caller's JSON Schema.
type Schema struct {
	Model        string
	JSON         string // of the JSON Schema
	Instructions string
	MetadataKey  string // metadata key of the object; empty: each field has its own key
	compiled     *jsonschema.Schema
}

// models returns the model of each selected field, "" for one without a model.
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
	if o.Context != nil {
		models["context"] = o.Context.Model
	}
	return models
}

// calls returns the number of calls of a language model for the chunks, without those for the title, which
// needs only the first chunks.
func (o Options) calls(chunks []Chunk) (calls int) {
	for field, model := range o.models() {
		switch {
		case model == "" || field == "title":
		case field == "context":
			calls += contextCalls(chunks)
		default:
			calls += len(chunks)
		}
	}
	return calls
}

// Options checks the settings and fills in the defaults. Errors are Invalid with
// one violation for every invalid option.
func (s Settings) Options() (Options, error) {
	c := checker{model: s.Model}
	c.checkText("model", s.Model, maxKeyBytes)
	var o Options
	if t := s.Title; t != nil {
		o.Title = &Title{
			Model: c.optionalModel("title", t.Model), Nodes: c.count("title.nodes", t.Nodes),
			NodeTemplate:    c.template("title.nodeTemplate", t.NodeTemplate),
			CombineTemplate: c.template("title.combineTemplate", t.CombineTemplate),
		}
	}
	if t := s.Summary; t != nil {
		o.Summary = &Summary{Model: c.neededModel("summary", t.Model), Template: c.template("summary.promptTemplate", t.PromptTemplate)}
		c.summaries(t.Summaries, o.Summary)
	}
	if t := s.Questions; t != nil {
		o.Questions = &Questions{
			Model: c.neededModel("questions", t.Model), Count: c.count("questions.questions", t.Questions),
			Template: c.template("questions.promptTemplate", t.PromptTemplate),
		}
	}
	if t := s.Keywords; t != nil {
		o.Keywords = &Keywords{
			Model: c.optionalModel("keywords", t.Model), Count: c.count("keywords.keywords", t.Keywords),
			Template: c.template("keywords.promptTemplate", t.PromptTemplate),
		}
	}
	if t := s.Schema; t != nil {
		c.checkText("schema.instructions", t.Instructions, maxTemplateBytes)
		c.checkText("schema.metadataKey", t.MetadataKey, maxKeyBytes)
		o.Schema = &Schema{Model: c.neededModel("schema", t.Model), Instructions: t.Instructions, MetadataKey: t.MetadataKey}
		c.schema(t.Schema, o.Schema)
	}
	if t := s.Context; t != nil {
		o.Context = &Context{Model: c.neededModel("context", t.Model), Budget: c.budget(t.BudgetTokens)}
	}
	return o, c.err()
}

// checker converts settings to options and collects the violations.
type checker struct {
	problems
	model string // of fields without their own
}

func (c *checker) checkText(field, text string, most int) {
	switch {
	case len(text) > most:
		c.refuse(field, "is %d bytes, over the limit of %d", len(text), most)
	case !textlimit.IsStorable(text):
		c.refuse(field, "must be valid UTF-8 without null characters")
	}
}

// optionalModel returns the model for a field that also works without one, "" if
// there is none.
func (c *checker) optionalModel(field string, own *string) string {
	if own == nil {
		return c.model
	}
	c.checkText(field+".model", *own, maxKeyBytes)
	return *own
}

// neededModel returns the model for a field that requires one.
func (c *checker) neededModel(field string, own *string) string {
	model := c.optionalModel(field, own)
	if model == "" {
		c.refuse(field+".model", "is needed, such as openai/gpt-5-mini: only title and keywords work without one")
	}
	return model
}

func (c *checker) count(field string, given *int) int {
	if given == nil {
		return defaultCount
	}
	if *given < 1 || *given > maxCount {
		c.refuse(field, "must be a whole number between 1 and %d, got %d", maxCount, *given)
	}
	return *given
}

func (c *checker) budget(given *int64) int64 {
	if given == nil {
		return DefaultBudget
	}
	if *given < 1 || *given > maxBudget {
		c.refuse("context.budgetTokens", "must be a whole number between 1 and %d, got %d", int64(maxBudget), *given)
	}
	return *given
}

func (c *checker) template(field, template string) string {
	c.checkText(field, template, maxTemplateBytes)
	if template != "" && !strings.Contains(template, "{context}") {
		c.refuse(field, "must have {context} where the text goes")
	}
	return template
}

func (c *checker) summaries(given []string, s *Summary) {
	s.Self = given == nil
	if given != nil && len(given) == 0 {
		c.refuse("summary.summaries", "must be a list of some of self, prev and next")
	}
	for i, which := range given {
		switch which {
		case "self":
			s.Self = true
		case "prev":
			s.Prev = true
		case "next":
			s.Next = true
		default:
			c.refuse(fmt.Sprintf("summary.summaries[%d]", i), "must be self, prev or next, got %s", which)
		}
	}
}

func (c *checker) schema(given json.RawMessage, s *Schema) {
	const field = "schema.schema"
	var object map[string]any
	if err := json.Unmarshal(given, &object); err != nil || len(object) == 0 {
		c.refuse(field, "is needed: a JSON Schema of an object")
		return
	}
	raw, err := json.Marshal(object)
	if err != nil || len(raw) > maxSchemaBytes {
		c.refuse(field, "must be at most %d bytes of JSON", maxSchemaBytes)
		return
	}
	if kind := object["type"]; kind != nil && kind != "object" {
		c.refuse(field, `must describe an object, not "type": %v`, kind)
		return
	}
	s.JSON = string(raw)
	if s.compiled, err = compile(raw); err != nil {
		c.refuse(field, "is not a JSON Schema: %v", err)
	}
}

// problems are the violations found in settings.
type problems []fault.Violation

func (p *problems) refuse(field, format string, args ...any) {
	*p = append(*p, fault.Violation{Field: field, Reason: fmt.Sprintf(format, args...)})
}

// err returns the problems as one error, nil if there are none.
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
