package workflow

import (
	"encoding/json"
	"errors"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// Definition is what a version of a workflow consists of.
type Definition struct {
	Title       string `json:"title,omitempty"`
	Description string `json:"description"` // for models
	// InputSchema and OutputSchema are JSON Schemas of objects. No InputSchema allows every object.
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Steps        []Step          `json:"steps"`
	// Output makes the result of a run; without it the result is the output of the last step.
	Output     Mapping `json:"output,omitzero"`
	OutputFrom *Source `json:"outputFrom,omitempty"`
}

// Kind is what a step does.
type Kind string

// The kinds of steps.
const (
	Tool     Kind = "tool"     // calls a tool that the caller may use
	Agent    Kind = "agent"    // asks an agent: prompt in, text out
	Query    Kind = "query"    // the tool vector_query
	Graph    Kind = "graph"    // the tool graph_rag
	Chunk    Kind = "chunk"    // the tool document_chunker
	Upload   Kind = "upload"   // the tool upload_document
	Rerank   Kind = "rerank"   // the tool rerank
	HTTP     Kind = "http"     // calls a service over HTTP, as a tool of the kind http does
	Nested   Kind = "workflow" // runs the steps of another workflow
	Map      Kind = "map"      // makes a value of others
	Choose   Kind = "branch"   // runs the steps of the first branch whose condition is true
	Parallel Kind = "parallel" // runs the steps of all branches at once
	ForEach  Kind = "foreach"  // runs steps for each item of a list
	Wait     Kind = "wait"     // waits until a caller resumes the run with data
)

// builtin are the tools of kinds that stand for a builtin tool.
var builtin = map[Kind]string{Query: "vector_query", Graph: "graph_rag", Chunk: "document_chunker", Upload: "upload_document", Rerank: "rerank"}

// Step is a step of a workflow. Its output is known to later steps by its ID.
type Step struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`

	Tool     string `json:"tool,omitempty"`     // of kind tool
	Agent    string `json:"agent,omitempty"`    // of kind agent
	Workflow string `json:"workflow,omitempty"` // of kind workflow
	// Settings are those of a tool of the kind http; of kind http.
	Settings map[string]any `json:"settings,omitzero"`

	// Input makes the input of the step, InputFrom instead takes it whole. Default: the output of the
	// step before, or the input of the workflow.
	Input     Mapping `json:"input,omitzero"`
	InputFrom *Source `json:"inputFrom,omitempty"`

	Branches  []Branch `json:"branches,omitzero"`  // of branch and parallel
	Otherwise []Step   `json:"otherwise,omitzero"` // of branch, where no condition is true
	// Steps run for each of Items, at most Concurrency at once; of kind foreach.
	Steps       []Step  `json:"steps,omitzero"`
	Items       *Source `json:"items,omitempty"`
	Concurrency int     `json:"concurrency,omitempty"`

	// Message is shown to who is asked for data that fits Schema; of kind wait.
	Message string          `json:"message,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`

	TimeoutSeconds float64 `json:"timeoutSeconds,omitempty"`
	Retry          *Retry  `json:"retry,omitempty"`
	// OnError are steps that run instead when the step has failed; their output becomes its output.
	OnError []Step `json:"onError,omitzero"`
}

// Retry says how a failed step is tried again.
type Retry struct {
	Attempts       int     `json:"attempts"`                 // in all
	BackoffSeconds float64 `json:"backoffSeconds,omitempty"` // before the second attempt; doubled after each
}

// Branch is one of several sequences of steps.
type Branch struct {
	ID    string `json:"id"`
	When  string `json:"when,omitempty"` // of kind branch
	Steps []Step `json:"steps"`
}

// Mapping makes an object: each field from a source.
type Mapping map[string]Source

// Source is where a value comes from: exactly one of its fields but Path and Schema.
type Source struct {
	// Step is the step whose output it is, or several, of which the first that has run counts.
	Step Names `json:"step,omitempty"`
	// Path is the path in that output or in the input of the workflow; empty for the whole.
	Path string `json:"path,omitempty"`
	// RequestContextPath is a path in the request context.
	RequestContextPath string          `json:"requestContextPath,omitempty"`
	Value              json.RawMessage `json:"value,omitempty"`
	InitData           bool            `json:"initData,omitempty"` // the input of the workflow
	Expression         string          `json:"expression,omitempty"`
	Schema             json.RawMessage `json:"schema,omitempty"` // that the value must fit
}

// JSONForm tells authors what a source looks like.
func (Source) JSONForm() string {
	return `a source: {"value": ...}, {"step": "ID", "path": "..."}, {"initData": true, "path": "..."}, {"requestContextPath": "..."} or {"expression": "..."}`
}

// Names are one name or several; in JSON a text or a list of texts.
type Names []string

// UnmarshalJSON implements json.Unmarshaler.
func (n *Names) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*n = Names{one}
		return nil
	}
	var several []string
	if err := json.Unmarshal(raw, &several); err != nil {
		return errors.New("must be the id of a step or a list of ids")
	}
	*n = several
	return nil
}

// MarshalJSON implements json.Marshaler.
func (n Names) MarshalJSON() ([]byte, error) {
	if len(n) == 1 {
		return json.Marshal(n[0])
	}
	return json.Marshal([]string(n))
}

// Parse reads a definition. Errors: Invalid, naming the field, for what is no definition or has
// unknown fields.
func Parse(raw []byte) (Definition, error) {
	const field = "definition"
	var d Definition
	if len(raw) > maxDefinitionBytes {
		return d, fault.Field(field, "must be at most %d bytes of JSON, got %d", maxDefinitionBytes, len(raw))
	}
	return d, schema.Into(field, raw, &d)
}
