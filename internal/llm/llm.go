// Package llm asks language models single questions, optionally for an answer in JSON of
// a given schema. It calls endpoints that implement OpenAI's /chat/completions and keeps
// no conversation.
//
//	client := llm.New(llm.Config{OpenAI: endpoint.Config{APIKey: key}})
//	answer, err := client.Ask(ctx, llm.Question{Tenant: "acme", Model: "openai/gpt-5-mini", User: "..."})
package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/ragdhq/ragd/internal/endpoint"
	"github.com/ragdhq/ragd/internal/fault"
)

// Config configures the providers.
type Config struct {
	// OpenAI is the endpoint of the openai provider. The provider is missing if it is
	// zero.
	OpenAI endpoint.Config
}

// Client asks language models. Safe for concurrent use.
type Client struct {
	config endpoint.Config  // of openai
	openai *endpoint.Client // nil if not configured
	modes  sync.Map         // model -> the mode that it accepted
}

// Question is a question to a language model.
type Question struct {
	Tenant string // whose slot of the endpoint it takes
	Model  string // provider/model
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

// New returns a Client of the configured providers.
func New(config Config) *Client {
	c := &Client{config: config.OpenAI}
	if !config.OpenAI.Configured() {
		return c
	}
	config.OpenAI.BaseURL = cmp.Or(config.OpenAI.BaseURL, "https://api.openai.com/v1")
	c.openai = endpoint.New("the language model provider openai", config.OpenAI)
	return c
}

// Check checks the name of a model without a call. Errors: Invalid unless it is
// provider/model of a known provider and allowed by endpoint.Config.Models; Precondition if
// the provider is not configured.
func (c *Client) Check(model string) error {
	name, id, ok := strings.Cut(model, "/")
	switch {
	case !ok || id == "":
		return fault.Field("model", "must be provider/model, such as openai/gpt-5-mini, got %q", model)
	case name != "openai":
		return fault.Field("model", "provider %q has no language models; the providers are openai", name)
	case c.openai == nil:
		return fault.New(fault.Precondition, "model: the provider openai is not configured on this server; its operator sets RAGD_OPENAI_API_KEY or RAGD_OPENAI_BASE_URL")
	}
	return c.config.CheckModel("model", id)
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
	if err := c.Check(q.Model); err != nil {
		return answer, err
	}
	if known, ok := c.modes.Load(q.Model); ok && q.Schema != nil {
		err := c.ask(ctx, q, known.(mode), &answer) // the mode is accepted: a refusal blames the content
		return answer, err
	}
	var err error
	for _, m := range modes {
		if q.Schema == nil && m.format != inText {
			continue
		}
		err = c.ask(ctx, q, m, &answer)
		var status *endpoint.StatusError
		if errors.As(err, &status) && status.Refused() {
			continue
		}
		if err == nil && q.Schema != nil {
			c.modes.Store(q.Model, m)
		}
		break
	}
	return answer, err
}

// ask sends the question in one mode.
func (c *Client) ask(ctx context.Context, q Question, m mode, answer *Answer) error {
	_, model, _ := strings.Cut(q.Model, "/")
	body := chatRequest{
		Model:               model,
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
	return c.openai.Do(ctx, q.Tenant, func(ctx context.Context) error {
		answer.Usage.Calls++
		var completion chatAnswer
		if err := c.openai.PostJSON(ctx, "/chat/completions", body, &completion); err != nil {
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
	usage = Usage{InputTokens: completion.Usage.PromptTokens, OutputTokens: completion.Usage.CompletionTokens}
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
