// Package llm asks language models: one question, one answer, as JSON of a given
// schema if wanted. It knows endpoints that speak OpenAI's /chat/completions and
// holds no conversation.
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

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/ragdhq/ragd/internal/endpoint"
	"github.com/ragdhq/ragd/internal/fault"
)

// Config says which providers there are.
type Config struct {
	// OpenAI is the endpoint of the openai provider; a zero one leaves the
	// provider out.
	OpenAI endpoint.Config
}

// Client asks language models. It is safe for concurrent use.
type Client struct {
	openai  *endpoint.Client // nil if not configured
	api     openai.ChatCompletionService
	manners sync.Map // model -> the manner it took
}

// Question is what to ask.
type Question struct {
	Tenant string // whose share of the concurrency it takes
	Model  string // provider/model
	System string // what the model is to do
	User   string // what it is to do it with
	// Schema asks for an answer in JSON of this form. Servers that cannot promise
	// a schema are asked for JSON, and those that cannot do that are just told by
	// System, so Accept must check all the same.
	Schema *Schema
	// Accept refuses answers that cannot be used; the model is then asked once
	// more. Nil accepts anything.
	Accept func(answer string) error
	// MaxTokens bounds the answer, thinking included. 2048.
	MaxTokens int
}

// Schema is the form of a JSON answer.
type Schema struct {
	Name string         // letters, digits, _ and -
	JSON map[string]any // JSON Schema, of the subset that OpenAI calls strict
}

// JSON writes what a question is about: as JSON, a text cannot pretend to be anything
// else. Texts keep their angle brackets, which JSON does not mind and models read more
// easily. It panics for what JSON cannot hold.
func JSON(message any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(message); err != nil {
		panic(err) // strings, and lists and objects of them
	}
	return strings.TrimSpace(b.String())
}

// Answer is what came back.
type Answer struct {
	// Text is the answer without white space around it, or without the code fence
	// that some models put around JSON.
	Text  string
	Usage Usage
}

// Usage is what questions cost, repeated attempts included.
type Usage struct {
	Calls, InputTokens, OutputTokens int
}

// Add adds what another question cost.
func (u *Usage) Add(other Usage) {
	u.Calls += other.Calls
	u.InputTokens += other.InputTokens
	u.OutputTokens += other.OutputTokens
}

// New returns a client of the configured providers.
func New(config Config) *Client {
	c := &Client{}
	if !config.OpenAI.Configured() {
		return c
	}
	config.OpenAI.BaseURL = cmp.Or(config.OpenAI.BaseURL, "https://api.openai.com/v1")
	c.openai = endpoint.New("the language model provider openai", config.OpenAI)
	options := []option.RequestOption{
		option.WithBaseURL(config.OpenAI.BaseURL),
		option.WithHTTPClient(c.openai.HTTP()),
		option.WithMaxRetries(0), // endpoint.Client retries, with what it knows of deadlines
		option.WithMiddleware(c.openai.Check),
	}
	if config.OpenAI.APIKey != "" {
		options = append(options, option.WithAPIKey(config.OpenAI.APIKey))
	}
	c.api = openai.NewChatCompletionService(options...)
	return c
}

// Check returns the error that Ask would give for the model's name, without
// asking: Invalid for one that is not provider/model with a known provider,
// Precondition if the provider is not configured.
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
	return nil
}

// manner is a way of asking. Servers and models refuse what they do not know:
// some cannot promise a schema, some only think at their own temperature.
type manner struct {
	format format
	cool   bool // at temperature 0, for answers that do not vary
}

type format uint8

const (
	inSchema format = iota
	inJSON
	inText
)

// manners are tried in this order until the server takes one.
var manners = []manner{{inSchema, true}, {inSchema, false}, {inJSON, true}, {inJSON, false}, {inText, true}, {inText, false}}

// Ask asks and blocks for the answer. The usage in the answer is right even if
// there is an error. Errors by kind are those of Check and of provider's
// Client.Do; an answer that Accept refuses twice is Unavailable.
func (c *Client) Ask(ctx context.Context, q Question) (Answer, error) {
	var answer Answer
	if err := c.Check(q.Model); err != nil {
		return answer, err
	}
	if known, ok := c.manners.Load(q.Model); ok && q.Schema != nil {
		err := c.ask(ctx, q, known.(manner), &answer) // a refusal now blames the content
		return answer, err
	}
	var err error
	for _, m := range manners {
		if q.Schema == nil && m.format != inText {
			continue
		}
		err = c.ask(ctx, q, m, &answer)
		var status *endpoint.StatusError
		if errors.As(err, &status) && status.Refused() {
			continue
		}
		if err == nil && q.Schema != nil {
			c.manners.Store(q.Model, m)
		}
		break
	}
	return answer, err
}

// ask asks in one manner.
func (c *Client) ask(ctx context.Context, q Question, m manner, answer *Answer) error {
	_, model, _ := strings.Cut(q.Model, "/")
	params := openai.ChatCompletionNewParams{
		Model:               model,
		Messages:            []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(q.System), openai.UserMessage(q.User)},
		MaxCompletionTokens: openai.Int(int64(cmp.Or(q.MaxTokens, 2048))),
	}
	if m.cool {
		params.Temperature = openai.Float(0)
	}
	switch m.format {
	case inSchema:
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: q.Schema.Name, Schema: q.Schema.JSON, Strict: openai.Bool(true)},
		}
	case inJSON:
		params.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	}
	return c.openai.Do(ctx, q.Tenant, func(ctx context.Context) error {
		answer.Usage.Calls++
		var body []byte // read as bytes, because not every server says that it is JSON
		if _, err := c.api.New(ctx, params, option.WithResponseBodyInto(&body)); err != nil {
			return err
		}
		text, usage, err := decode(body)
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

// decode reads the body of an answer.
func decode(body []byte) (text string, usage Usage, err error) {
	var completion struct {
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
	if err := endpoint.Decode(body, &completion); err != nil {
		return "", usage, err
	}
	usage = Usage{InputTokens: completion.Usage.PromptTokens, OutputTokens: completion.Usage.CompletionTokens}
	if len(completion.Choices) == 0 {
		return "", usage, endpoint.Nonsense("an answer without choices")
	}
	choice := completion.Choices[0]
	switch {
	case choice.Message.Refusal != "":
		return "", usage, endpoint.Nonsense("the model declined to answer")
	case choice.FinishReason == "length":
		return "", usage, endpoint.Nonsense("an answer cut off at the most tokens allowed")
	case strings.TrimSpace(choice.Message.Content) == "":
		return "", usage, endpoint.Nonsense("an empty answer")
	}
	return unfence(choice.Message.Content), usage, nil
}

// unfence takes off a code fence around the whole text.
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
