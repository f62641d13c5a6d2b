package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Role is who says a message.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // the result of a call that an assistant's message asks for
)

// Message is a message of a conversation.
type Message struct {
	Role  Role
	Text  string
	Calls []ToolCall // that an assistant asks for
	// CallID is the ID of the call whose result a message of the role tool is.
	CallID string
}

// ToolCall is a call of a tool that a model asks for.
type ToolCall struct {
	ID   string
	Name string
	// Arguments are what the model wrote, which need not be valid JSON.
	Arguments string
}

// Tool is a function that a model may ask for.
type Tool struct {
	Name        string          // letters, digits, _ and -, at most 64
	Description string          // when to use it
	Parameters  json.RawMessage // JSON Schema of an object
}

// Sampling is how a model chooses tokens. Nil is the model's default.
type Sampling struct {
	Temperature *float64
	TopP        *float64
	Seed        *int64
	Stop        []string
}

// Chat is a turn of a conversation.
type Chat struct {
	Tenant   string // whose endpoints are looked at, and whose slot of the endpoint is taken
	Model    string // endpoint/model
	Messages []Message
	Tools    []Tool
	// ToolChoice is auto, none or required. Empty means auto.
	ToolChoice string
	Sampling   Sampling
	// Schema asks for a text in JSON of this schema. Servers that do not support schemas are
	// asked for any JSON, others for text, so the caller must check the answer.
	Schema *Schema
	// MaxTokens bounds the tokens of the answer, with those of reasoning. 0 means 2048.
	MaxTokens int
	// OnText is called with each piece of the text as it arrives; nil if that is not wanted. Its
	// error ends the turn and is returned.
	OnText func(piece string) error
}

// Reply is what a model says in a turn: a text, calls of tools, or both.
type Reply struct {
	Text  string
	Calls []ToolCall
	// Cut says that the text or the last call ends at MaxTokens.
	Cut   bool
	Usage Usage
}

// Limits of one reply.
const (
	maxReplyBytes = 4 << 20
	maxEventBytes = 64 << 20 // of all events of a stream
	maxIDBytes    = 256      // of a call
	maxCalls      = 128
)

// Chat sends a turn and blocks until the reply has arrived. A turn is tried again until the first
// piece of its text has been passed on. Reply.Usage is set even if there is an error. Errors: those
// of Check and endpoint.Client.Do; Unavailable for a stream that breaks off.
func (c *Client) Chat(ctx context.Context, chat Chat) (Reply, error) {
	var reply Reply
	target, err := c.resolve(ctx, chat.Tenant, chat.Model)
	if err != nil {
		return reply, err
	}
	if err := c.meter.Admit(ctx, chat.Tenant); err != nil {
		return reply, err
	}
	defer func() { c.count(ctx, chat.Tenant, chat.Model, reply.Usage, chat.bytes(), len(reply.Text)) }()
	key := turnKey{chat.Tenant, target.Config.BaseURL, target.Model, len(chat.Tools) > 0}
	known, _ := c.formats.Load(key)
	from, _ := known.(format)
	for f := from; f <= inText; f++ {
		if chat.Schema == nil && f != inText {
			continue
		}
		err = chat.send(ctx, target, f, &reply)
		var status *endpoint.StatusError
		if chat.Schema != nil && errors.As(err, &status) && status.Refused() {
			continue
		}
		if err == nil && chat.Schema != nil {
			c.formats.Store(key, f)
		}
		break
	}
	return reply, err
}

// bytes returns the bytes of the texts of the turn.
func (chat Chat) bytes() (n int) {
	for _, m := range chat.Messages {
		n += len(m.Text)
	}
	return n
}

// turnKey identifies a model at an address, with or without tools: some servers accept a schema
// only without them. The schema of one tenant may be refused where that of another is accepted.
type turnKey struct {
	tenant, baseURL, model string
	tools                  bool
}

// send sends the turn with one format of its answer.
func (chat Chat) send(ctx context.Context, target endpoint.Target, f format, reply *Reply) error {
	body, client := chat.body(target.Model, f), target.Client(endpoint.Chat)
	var stopped error
	err := client.DoStream(ctx, chat.Tenant, func(ctx context.Context) error {
		reply.Usage.Calls++
		s := stream{onText: chat.OnText}
		err := client.PostEvents(ctx, paths[target.Kind], body, s.add)
		reply.Usage.Add(s.usage)
		if s.stopped != nil {
			stopped = s.stopped
			return fault.New(fault.Canceled, "the receiver has left")
		}
		if err == nil {
			err = s.end()
		}
		if err != nil {
			if s.passed && ctx.Err() == nil { // it would be passed on twice
				return fault.Wrap(fault.Unavailable, err, "%s broke off in the middle of its answer", client.Name())
			}
			return err
		}
		reply.Text, reply.Calls, reply.Cut = s.text.String(), s.toolCalls(), s.finish == "length"
		return nil
	})
	if stopped != nil {
		return stopped
	}
	return err
}

// body returns the body of the request.
func (chat Chat) body(model string, f format) turnRequest {
	body := turnRequest{
		Model: model, Stream: true, StreamOptions: streamOptions{IncludeUsage: true},
		MaxCompletionTokens: cmp.Or(chat.MaxTokens, 2048),
		Temperature:         chat.Sampling.Temperature, TopP: chat.Sampling.TopP, Seed: chat.Sampling.Seed, Stop: chat.Sampling.Stop,
	}
	for _, m := range chat.Messages {
		said := turnMessage{Role: m.Role, ToolCallID: m.CallID}
		if m.Text != "" || len(m.Calls) == 0 {
			said.Content = &m.Text
		}
		for _, call := range m.Calls {
			said.ToolCalls = append(said.ToolCalls, turnCall{ID: call.ID, Type: "function", Function: turnFunction{Name: call.Name, Arguments: call.Arguments}})
		}
		body.Messages = append(body.Messages, said)
	}
	for _, t := range chat.Tools {
		body.Tools = append(body.Tools, turnTool{"function", turnToolFunction(t)})
	}
	if len(chat.Tools) > 0 {
		body.ToolChoice = chat.ToolChoice
	}
	switch {
	case chat.Schema == nil:
	case f == inSchema:
		body.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: &jsonSchema{chat.Schema.Name, chat.Schema.JSON, true}}
	case f == inJSON:
		body.ResponseFormat = &responseFormat{Type: "json_object"}
	}
	return body
}

// stream collects the events of a reply.
type stream struct {
	onText  func(string) error
	text    strings.Builder
	calls   []*callStream
	bytes   int
	events  int // bytes of all events
	finish  string
	usage   Usage
	passed  bool  // a piece of the text
	stopped error // of onText
}

// add adds an event.
func (s *stream) add(data []byte) error {
	if s.events += len(data); s.events > maxEventBytes {
		return endpoint.BadAnswer("a stream of more than %d bytes", maxEventBytes)
	}
	var chunk turnChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return endpoint.BadAnswer("an event that is no JSON")
	}
	if chunk.Error != nil {
		return endpoint.BadAnswer("an error in the middle of the stream")
	}
	if u := chunk.Usage; u != nil {
		s.usage = usageOf(u.PromptTokens, u.CompletionTokens)
	}
	if len(chunk.Choices) == 0 {
		return nil
	}
	choice := chunk.Choices[0]
	said := choice.Delta
	if choice.Message != nil { // of a server that does not stream
		said = *choice.Message
	}
	s.finish = cmp.Or(choice.FinishReason, s.finish)
	for _, call := range said.ToolCalls {
		if err := s.addCall(call); err != nil {
			return err
		}
	}
	return s.addText(said.Content + said.Refusal)
}

func (s *stream) addText(piece string) error {
	if piece == "" {
		return nil
	}
	s.text.WriteString(piece)
	if err := s.grow(len(piece)); err != nil || s.onText == nil {
		return err
	}
	s.passed = true
	s.stopped = s.onText(piece)
	return s.stopped
}

// callStream collects the pieces of a call.
type callStream struct {
	index           int
	id              string
	name, arguments strings.Builder
}

// addCall adds a piece of a call. Pieces of one call have the same index.
func (s *stream) addCall(piece turnCall) error {
	var call *callStream
	for _, known := range s.calls {
		if piece.Index != nil && known.index == *piece.Index {
			call = known
		}
	}
	if call == nil {
		if len(s.calls) >= maxCalls {
			return endpoint.BadAnswer("more than %d calls of tools", maxCalls)
		}
		call = &callStream{index: len(s.calls)}
		if piece.Index != nil {
			call.index = *piece.Index
		}
		s.calls = append(s.calls, call)
	}
	if call.id = cmp.Or(call.id, piece.ID); len(call.id) > maxIDBytes {
		return endpoint.BadAnswer("a call with an id of more than %d bytes", maxIDBytes)
	}
	call.name.WriteString(piece.Function.Name)
	call.arguments.WriteString(piece.Function.Arguments)
	return s.grow(len(piece.Function.Name) + len(piece.Function.Arguments))
}

// toolCalls returns the calls once the stream has ended.
func (s *stream) toolCalls() []ToolCall {
	var calls []ToolCall
	for i, c := range s.calls {
		calls = append(calls, ToolCall{ID: cmp.Or(c.id, fmt.Sprintf("call_%d", i+1)), Name: c.name.String(), Arguments: c.arguments.String()})
	}
	return calls
}

func (s *stream) grow(by int) error {
	if s.bytes += by; s.bytes > maxReplyBytes {
		return endpoint.BadAnswer("a reply of more than %d bytes", maxReplyBytes)
	}
	return nil
}

// end checks the reply once the stream has ended.
func (s *stream) end() error {
	if s.finish == "" {
		return fmt.Errorf("the stream has no end: %w", io.ErrUnexpectedEOF)
	}
	if s.finish == "content_filter" {
		return endpoint.BadAnswer("an answer that the provider's filter has withheld")
	}
	if len(s.calls) == 0 && strings.TrimSpace(s.text.String()) == "" {
		return endpoint.BadAnswer("an empty answer")
	}
	return nil
}

// turnRequest is the body of a request to /chat/completions with tools and a stream.
type turnRequest struct {
	Model               string          `json:"model"`
	Messages            []turnMessage   `json:"messages"`
	Tools               []turnTool      `json:"tools,omitempty"`
	ToolChoice          string          `json:"tool_choice,omitempty"`
	Stream              bool            `json:"stream"`
	StreamOptions       streamOptions   `json:"stream_options"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature,omitempty"`
	TopP                *float64        `json:"top_p,omitempty"`
	Seed                *int64          `json:"seed,omitempty"`
	Stop                []string        `json:"stop,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type turnMessage struct {
	Role       Role       `json:"role"`
	Content    *string    `json:"content"`
	ToolCalls  []turnCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type turnCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function turnFunction `json:"function"`
}

type turnFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type turnTool struct {
	Type     string           `json:"type"`
	Function turnToolFunction `json:"function"`
}

type turnToolFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// turnChunk is an event of a stream, or a whole answer.
type turnChunk struct {
	Choices []struct {
		Delta        turnDelta  `json:"delta"`
		Message      *turnDelta `json:"message"`
		FinishReason string     `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type turnDelta struct {
	Content   string     `json:"content"`
	Refusal   string     `json:"refusal"`
	ToolCalls []turnCall `json:"tool_calls"`
}
