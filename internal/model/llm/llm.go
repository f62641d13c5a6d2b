// Package llm asks language models single questions and continues conversations with tools,
// optionally for an answer in JSON of a given schema. It calls endpoints that implement OpenAI's
// /chat/completions and stores no conversation.
//
//	client := llm.New(llm.Config{Endpoints: directory})
//	answer, err := client.Ask(ctx, llm.Question{Tenant: "acme", Model: "openai/gpt-5-mini", User: "..."})
package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/ragdhq/ragd/internal/model/endpoint"
)

// Config configures the models.
type Config struct {
	// Endpoints finds the endpoints of models. Default: none.
	Endpoints *endpoint.Directory
	// Meter counts the tokens of all calls. Default: nothing is counted.
	Meter endpoint.Meter
}

// Client asks language models. Safe for concurrent use.
type Client struct {
	endpoints *endpoint.Directory
	meter     endpoint.Meter
	modes     sync.Map // modeKey -> the mode that it accepted
	formats   sync.Map // turnKey -> the format that it accepted in a conversation
}

// modeKey identifies a model at an address.
type modeKey struct{ baseURL, model string }

// Question is a question to a language model.
type Question struct {
	Tenant string // whose endpoints are looked at, and whose slot of the endpoint is taken
	Model  string // endpoint/model
	System string // the instructions
	User   string // the input
	// Schema asks for an answer in JSON of this schema. Servers that do not support
	// schemas are asked for any JSON, others only by System, so Accept must check the
	// answer in any case.
	Schema *Schema
	// Accept returns an error for an answer that cannot be used. If it is a
	// *endpoint.BadAnswerError, the model is asked once more. Nil accepts any answer.
	Accept func(answer string) error
	// MaxTokens bounds the tokens of the answer, with those of reasoning. 0 means 2048.
	MaxTokens int
}

// Schema is the schema of a JSON answer.
type Schema struct {
	Name string         // letters, digits, _ and -
	JSON map[string]any // JSON Schema, of the subset that OpenAI calls strict
}

// JSON returns a message as JSON. In JSON a text of a document cannot pass for part of
// the instructions. Angle brackets are not escaped, because models read them more easily
// like that. It panics for values that JSON cannot hold.
func JSON(message any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(message); err != nil {
		panic(err) // strings, and lists and objects of them
	}
	return strings.TrimSpace(b.String())
}

// Answer is the answer of a model.
type Answer struct {
	// Text is the answer without surrounding white space and without a code fence
	// around it.
	Text  string
	Usage Usage
}

// Usage counts calls and tokens, with those of repeated attempts.
type Usage struct {
	Calls, InputTokens, OutputTokens int
}

// Add adds the usage of another question.
func (u *Usage) Add(other Usage) {
	u.Calls += other.Calls
	u.InputTokens += other.InputTokens
	u.OutputTokens += other.OutputTokens
}

// maxReportedTokens is more than any model reads or writes at once.
const maxReportedTokens = 100_000_000

// usageOf returns what an endpoint says of a call, within possible numbers: it may be anybody's.
func usageOf(input, output int) Usage {
	possible := func(n int) int { return min(max(n, 0), maxReportedTokens) }
	return Usage{InputTokens: possible(input), OutputTokens: possible(output)}
}

// New returns a Client.
func New(config Config) *Client {
	if config.Meter == nil {
		config.Meter = endpoint.Unmetered{}
	}
	return &Client{endpoints: cmp.Or(config.Endpoints, new(endpoint.Directory)), meter: config.Meter}
}

// count counts what was used of a tenant's model. input and output are the bytes of the texts, by
// which the tokens are estimated if the endpoint says none.
func (c *Client) count(ctx context.Context, tenant, model string, u Usage, input, output int) {
	switch {
	case u.Calls == 0, u.InputTokens+u.OutputTokens == 0 && output == 0: // no answer arrived
		return
	case u.InputTokens+u.OutputTokens == 0:
		u.InputTokens, u.OutputTokens = endpoint.EstimateTokens(input), endpoint.EstimateTokens(output)
	}
	c.meter.Count(ctx, tenant, endpoint.Chat, model, u.InputTokens, u.OutputTokens)
}

// Check checks the name of a tenant's model without a call. Errors: those of
// endpoint.Directory.Resolve, naming the field model.
func (c *Client) Check(ctx context.Context, tenant, model string) error {
	_, err := c.resolve(ctx, tenant, model)
	return err
}

func (c *Client) resolve(ctx context.Context, tenant, model string) (endpoint.Target, error) {
	return c.endpoints.Resolve(ctx, endpoint.Query{Tenant: tenant, Field: "model", Name: model, Use: endpoint.Chat})
}

// paths are the paths of chat completions in OpenAI's shape.
var paths = map[endpoint.Kind]string{
	endpoint.OpenAI: "/chat/completions",
	endpoint.Cohere: "/compatibility/v1/chat/completions",
	endpoint.Ollama: "/v1/chat/completions",
	endpoint.Gemini: "/v1beta/openai/chat/completions",
}

// mode is a combination of request options. Servers and models refuse options that they
// do not support: some have no schemas, some no temperature.
type mode struct {
	format format
	cool   bool // temperature 0, for answers that do not vary
}

type format uint8

const (
	inSchema format = iota
	inJSON
	inText
)

// modes are tried in this order until the server accepts one.
var modes = []mode{{inSchema, true}, {inSchema, false}, {inJSON, true}, {inJSON, false}, {inText, true}, {inText, false}}

// Ask sends a question and blocks until the answer arrives. Answer.Usage is set even if
// there is an error. Errors: those of Check and endpoint.Client.Do; Unavailable for an
// answer that Accept refuses twice.
func (c *Client) Ask(ctx context.Context, q Question) (Answer, error) {
	var answer Answer
	target, err := c.resolve(ctx, q.Tenant, q.Model)
	if err != nil {
		return answer, err
	}
	if err := c.meter.Admit(ctx, q.Tenant); err != nil {
		return answer, err
	}
	defer func() { c.count(ctx, q.Tenant, q.Model, answer.Usage, len(q.System)+len(q.User), len(answer.Text)) }()
	key := modeKey{target.Config.BaseURL, target.Model}
	if known, ok := c.modes.Load(key); ok && q.Schema != nil {
		err := ask(ctx, target, q, known.(mode), &answer) // the mode is accepted: a refusal blames the content
		return answer, err
	}
	for _, m := range modes {
		if q.Schema == nil && m.format != inText {
			continue
		}
		err = ask(ctx, target, q, m, &answer)
		var status *endpoint.StatusError
		if errors.As(err, &status) && status.Refused() {
			continue
		}
		if err == nil && q.Schema != nil {
			c.modes.Store(key, m)
		}
		break
	}
	return answer, err
}

// ask sends the question in one mode.
func ask(ctx context.Context, target endpoint.Target, q Question, m mode, answer *Answer) error {
	body := chatRequest{
		Model:               target.Model,
		Messages:            []message{{"system", q.System}, {"user", q.User}},
		MaxCompletionTokens: cmp.Or(q.MaxTokens, 2048),
	}
	if m.cool {
		body.Temperature = new(float64)
	}
	switch m.format {
	case inSchema:
		body.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: &jsonSchema{q.Schema.Name, q.Schema.JSON, true}}
	case inJSON:
		body.ResponseFormat = &responseFormat{Type: "json_object"}
	}
	client := target.Client(endpoint.Chat)
	return client.Do(ctx, q.Tenant, func(ctx context.Context) error {
		answer.Usage.Calls++
		var completion chatAnswer
		if err := client.PostJSON(ctx, paths[target.Kind], body, &completion); err != nil {
			return err
		}
		text, usage, err := completion.text()
		answer.Usage.Add(usage)
		if err != nil {
			return err
		}
		if q.Accept != nil {
			if err := q.Accept(text); err != nil {
				return err
			}
		}
		answer.Text = text
		return nil
	})
}

// chatRequest is the body of a request to /chat/completions.
type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema,omitempty"`
}

type jsonSchema struct {
	Name   string         `json:"name"`
	Schema map[string]any `json:"schema"`
	Strict bool           `json:"strict"`
}

// chatAnswer is the body of an answer of /chat/completions.
type chatAnswer struct {
	Choices []struct {
		Message struct {
			Content string `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

// text returns the text of an answer. The usage is set even if there is an error.
func (completion chatAnswer) text() (text string, usage Usage, err error) {
	usage = usageOf(completion.Usage.PromptTokens, completion.Usage.CompletionTokens)
	if len(completion.Choices) == 0 {
		return "", usage, endpoint.BadAnswer("an answer without choices")
	}
	choice := completion.Choices[0]
	switch {
	case choice.Message.Refusal != "":
		return "", usage, endpoint.BadAnswer("the model declined to answer")
	case choice.FinishReason == "length":
		return "", usage, endpoint.BadAnswer("an answer cut off at the most tokens allowed")
	case strings.TrimSpace(choice.Message.Content) == "":
		return "", usage, endpoint.BadAnswer("an empty answer")
	}
	return unfence(choice.Message.Content), usage, nil
}

// unfence removes white space and a code fence around the text.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	inner, ok = strings.CutSuffix(inner, "```")
	_, inner, hasLine := strings.Cut(inner, "\n")
	if !ok || !hasLine {
		return text
	}
	return strings.TrimSpace(inner)
}
