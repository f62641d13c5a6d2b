package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// chatRequest is the body of POST /v1/chat/completions.
type chatRequest struct {
	ignored

	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage       bool `json:"include_usage"`
		IncludeObfuscation any  `json:"include_obfuscation"`
	} `json:"stream_options"`
	Tools      []chatTool `json:"tools"`
	ToolChoice any        `json:"tool_choice"`

	N              *int            `json:"n"`
	Logprobs       bool            `json:"logprobs"`
	Modalities     []string        `json:"modalities"`
	ResponseFormat *responseFormat `json:"response_format"`

	// Like ignored.
	MaxTokens           any `json:"max_tokens"`
	MaxCompletionTokens any `json:"max_completion_tokens"`
	PresencePenalty     any `json:"presence_penalty"`
	FrequencyPenalty    any `json:"frequency_penalty"`
	LogitBias           any `json:"logit_bias"`
	ReasoningEffort     any `json:"reasoning_effort"`
	Seed                any `json:"seed"`
	Stop                any `json:"stop"`
	Verbosity           any `json:"verbosity"`
}

// responseFormat is the wanted format of a text.
type responseFormat struct {
	Type       string          `json:"type"`
	JSONSchema json.RawMessage `json:"json_schema"`
}

type chatTool struct {
	Type     string      `json:"type"`
	Function offeredTool `json:"function"`
}

// chatMessage is a message. Clients send back the answers that they have, so that fields that are not known
// here are passed over.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []chatToolCall  `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *chatMessage) UnmarshalJSON(data []byte) error {
	type plain chatMessage
	return json.Unmarshal(data, (*plain)(m))
}

type chatToolCall struct {
	Index    *int         `json:"index,omitempty"` // in streams
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// read returns the conversation of a request. Errors: Invalid.
func (in *chatRequest) read(r *http.Request) (*conversation, form, error) {
	c := &conversation{model: in.Model, field: "messages"}
	var err error
	if c.footnotes, err = footnotesOf(r, true); err != nil {
		return nil, nil, err
	}
	switch f := in.ResponseFormat; {
	case in.N != nil && *in.N != 1:
		return nil, nil, fault.Field("n", "must be 1: there is one answer")
	case in.Logprobs:
		return nil, nil, fault.Field("logprobs", "are not known here: leave logprobs out")
	case slices.ContainsFunc(in.Modalities, func(m string) bool { return m != "text" }):
		return nil, nil, fault.Field("modalities", "must be text alone")
	case f != nil && f.Type != "text":
		return nil, nil, fault.Field("response_format.type", "must be text: an agent with an outputSchema answers in JSON")
	}
	for i, m := range in.Messages {
		if err := m.addTo(c, fmt.Sprintf("messages[%d]", i)); err != nil {
			return nil, nil, err
		}
	}
	for i, t := range in.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		if t.Type != "function" {
			return nil, nil, fault.Field(at+".type", "%q is unknown: known is function; /v1/responses also knows file_search", shorten(t.Type))
		}
		if err := c.offer(at+".function", t.Function); err != nil {
			return nil, nil, err
		}
	}
	return c, newCompletion(in), c.choose(in.ToolChoice)
}

// addTo adds the message to a conversation.
func (m chatMessage) addTo(c *conversation, at string) error {
	text, err := textOf(at+".content", m.Content)
	if err != nil {
		return err
	}
	if m.Role == "tool" {
		return c.result(at+".tool_call_id", m.ToolCallID, text)
	}
	var calls []llm.ToolCall
	for _, call := range m.ToolCalls {
		calls = append(calls, llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	if len(calls) > 0 && m.Role != "assistant" {
		return fault.Field(at+".tool_calls", "have a place in messages of the assistant alone")
	}
	return c.say(at, m.Role, text, calls...)
}

// completion is the form of a chat completion.
type completion struct {
	id, model string
	created   int64
	events    bool
	usage     bool // wanted in the stream
}

func newCompletion(in *chatRequest) *completion {
	return &completion{newID("chatcmpl-"), in.Model, time.Now().Unix(), in.Stream, in.StreamOptions.IncludeUsage}
}

type chatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

type chatChoice struct {
	Index        int         `json:"index"`
	Message      *chatAnswer `json:"message,omitempty"`
	Delta        *chatAnswer `json:"delta,omitempty"`
	Logprobs     *struct{}   `json:"logprobs"`
	FinishReason *string     `json:"finish_reason"`
}

// chatAnswer is the answer, or a piece of it.
type chatAnswer struct {
	Role        string           `json:"role,omitempty"`
	Content     *string          `json:"content,omitempty"`
	ToolCalls   []chatToolCall   `json:"tool_calls,omitempty"`
	Annotations []chatAnnotation `json:"annotations,omitempty"`
}

type chatAnnotation struct {
	Type        string      `json:"type"`
	URLCitation urlCitation `json:"url_citation"`
}

func chatAnnotations(all []annotation) []chatAnnotation {
	out := make([]chatAnnotation, len(all))
	for i, a := range all {
		out[i] = chatAnnotation{"url_citation", a.urlCitation("")}
	}
	return out
}

func chatToolCalls(calls []llm.ToolCall, numbered bool) []chatToolCall {
	out := make([]chatToolCall, len(calls))
	for i, c := range calls {
		out[i] = chatToolCall{ID: c.ID, Type: "function", Function: chatFunction{c.Name, c.Arguments}}
		if numbered {
			out[i].Index = &i
		}
	}
	return out
}

func finishOf(said *utterance) *string {
	reason := "stop"
	if len(said.calls) > 0 {
		reason = "tool_calls"
	}
	return &reason
}

func (f *completion) usageOf(said *utterance) *chatUsage {
	return &chatUsage{said.input, said.output, said.input + said.output}
}

func (f *completion) streamed() bool { return f.events }

func (f *completion) whole(said *utterance) any {
	answer := &chatAnswer{Role: "assistant", Content: &said.text, ToolCalls: chatToolCalls(said.calls, false), Annotations: chatAnnotations(said.annotations)}
	return chatCompletion{f.id, "chat.completion", f.created, f.model, []chatChoice{{Message: answer, FinishReason: finishOf(said)}}, f.usageOf(said)}
}

// chunk returns an event of a piece of the answer.
func (f *completion) chunk(delta chatAnswer, finish *string) event {
	return event{data: chatCompletion{f.id, "chat.completion.chunk", f.created, f.model, []chatChoice{{Delta: &delta, FinishReason: finish}}, nil}}
}

func (f *completion) opening() []event {
	return []event{f.chunk(chatAnswer{Role: "assistant", Content: new(string)}, nil)}
}

func (f *completion) piece(text string) []event {
	return []event{f.chunk(chatAnswer{Content: &text}, nil)}
}

func (f *completion) closing(said *utterance) (events []event) {
	if len(said.annotations) > 0 {
		events = append(events, f.chunk(chatAnswer{Annotations: chatAnnotations(said.annotations)}, nil))
	}
	if len(said.calls) > 0 {
		events = append(events, f.chunk(chatAnswer{ToolCalls: chatToolCalls(said.calls, true)}, nil))
	}
	events = append(events, f.chunk(chatAnswer{}, finishOf(said)))
	if f.usage {
		events = append(events, event{data: chatCompletion{f.id, "chat.completion.chunk", f.created, f.model, []chatChoice{}, f.usageOf(said)}})
	}
	return append(events, event{raw: "[DONE]"})
}

func (f *completion) failure(e wireError) []event {
	return []event{{data: map[string]wireError{"error": e}}}
}
