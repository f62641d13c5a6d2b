package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// responseRequest is the body of POST /v1/responses.
type responseRequest struct {
	ignored

	Model         string            `json:"model"`
	Input         json.RawMessage   `json:"input"`
	Instructions  string            `json:"instructions"`
	Stream        bool              `json:"stream"`
	Tools         []json.RawMessage `json:"tools"`
	ToolChoice    any               `json:"tool_choice"`
	Conversation  json.RawMessage   `json:"conversation"`
	PreviousID    *string           `json:"previous_response_id"`
	Background    bool              `json:"background"`
	Prompt        any               `json:"prompt"`
	Text          *responseText     `json:"text"`
	StreamOptions any               `json:"stream_options"`

	// Like ignored.
	Include         any `json:"include"`
	MaxOutputTokens any `json:"max_output_tokens"`
	MaxToolCalls    any `json:"max_tool_calls"`
	Reasoning       any `json:"reasoning"`
	Truncation      any `json:"truncation"`
}

// responseText is how a text is wanted.
type responseText struct {
	Format    *textFormat `json:"format"`
	Verbosity any         `json:"verbosity"`
}

// textFormat is the wanted format of a text.
type textFormat struct {
	Type        string `json:"type"`
	Name        any    `json:"name"`
	Schema      any    `json:"schema"`
	Strict      any    `json:"strict"`
	Description any    `json:"description"`
}

// responseItem is an item of the input. Clients send back the items that they have, so that fields that are not
// known here are passed over.
type responseItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// read returns the conversation of a request. Errors: Invalid.
func (in *responseRequest) read(r *http.Request) (*conversation, form, error) {
	c := &conversation{model: in.Model, field: "input"}
	var err error
	if c.footnotes, err = footnotesOf(r, false); err != nil {
		return nil, nil, err
	}
	switch {
	case in.PreviousID != nil && *in.PreviousID != "":
		return nil, nil, fault.Field("previous_response_id", "is not supported, as responses are not stored: send what was said before in input, or name a conversation")
	case in.Background:
		return nil, nil, fault.Field("background", "must be false: responses are not stored")
	case in.Prompt != nil:
		return nil, nil, fault.Field("prompt", "is not supported: the model is an agent, which has instructions")
	case in.Text != nil && in.Text.Format != nil && in.Text.Format.Type != "text":
		return nil, nil, fault.Field("text.format.type", "must be text: an agent with an outputSchema answers in JSON")
	}
	if c.thread, err = in.thread(); err != nil {
		return nil, nil, err
	}
	if err := in.addTo(c); err != nil {
		return nil, nil, err
	}
	if c.thread != "" && len(c.messages) > 1 {
		return nil, nil, fault.Field("input", "must be one message of the user beside conversation, which has what was said before")
	}
	if err := in.offerTo(c); err != nil {
		return nil, nil, err
	}
	return c, newResponse(in, c.search != nil), c.choose(in.ToolChoice)
}

// thread returns the id of the conversation; "" for none. Errors: Invalid.
func (in *responseRequest) thread() (id string, err error) {
	if len(in.Conversation) == 0 || json.Unmarshal(in.Conversation, &id) == nil {
		return id, nil
	}
	var named struct{ ID string }
	if json.Unmarshal(in.Conversation, &named) != nil || named.ID == "" {
		return "", fault.Field("conversation", "must be an id, or an object with an id")
	}
	return named.ID, nil
}

// addTo adds the input to a conversation. Errors: Invalid.
func (in *responseRequest) addTo(c *conversation) error {
	if err := c.say("instructions", "developer", in.Instructions); err != nil {
		return err
	}
	var text string
	if len(in.Input) > 0 && json.Unmarshal(in.Input, &text) == nil {
		return c.say("input", "user", text)
	}
	var items []responseItem
	if len(in.Input) > 0 && json.Unmarshal(in.Input, &items) != nil {
		return fault.Field("input", "must be a string or an array of items")
	}
	for i, item := range items {
		if err := item.addTo(c, fmt.Sprintf("input[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (item responseItem) addTo(c *conversation, at string) error {
	switch item.Type {
	case "", "message":
		text, err := textOf(at+".content", item.Content)
		if err != nil {
			return err
		}
		return c.say(at, item.Role, text)
	case "function_call":
		return c.say(at, "assistant", "", llm.ToolCall{ID: item.CallID, Name: item.Name, Arguments: item.Arguments})
	case "function_call_output":
		text, err := textOf(at+".output", item.Output)
		if err != nil {
			return err
		}
		return c.result(at+".call_id", item.CallID, text)
	case "reasoning", "file_search_call": // of an earlier response, which says what came of them
		return nil
	}
	return fault.Field(at+".type", "%q is not supported; known are message, function_call and function_call_output", shorten(item.Type))
}

// offerTo adds the tools to a conversation. Errors: Invalid.
func (in *responseRequest) offerTo(c *conversation) error {
	for i, raw := range in.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		var t struct {
			offeredTool
			Type string `json:"type"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return fault.Under(at, malformed(err))
		}
		switch {
		case t.Type == "function":
			if err := c.offer(at, t.offeredTool); err != nil {
				return err
			}
		case t.Type == "file_search" && c.search != nil:
			return fault.Field(at+".type", "file_search is given twice: name all vector stores in one")
		case t.Type == "file_search":
			var err error
			if c.search, err = fileSearchOf(at, raw); err != nil {
				return err
			}
		default:
			return fault.Field(at+".type", "%q is unknown; known are function and file_search", shorten(t.Type))
		}
	}
	return nil
}

// response is the form of a response.
type response struct {
	responseBody

	events   bool // wanted
	searches bool // by file_search

	// Of a stream.
	sequence  int
	messageID string // "" before the first piece of the text
	sent      strings.Builder
}

// responseBody is a response as it is sent. Fields that have no effect have their default.
type responseBody struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	CreatedAt          int64             `json:"created_at"`
	Status             string            `json:"status"`
	Error              *responseError    `json:"error"`
	IncompleteDetails  *struct{}         `json:"incomplete_details"`
	Instructions       *string           `json:"instructions"`
	Metadata           map[string]string `json:"metadata"`
	Model              string            `json:"model"`
	Output             []any             `json:"output"`
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	Temperature        *float64          `json:"temperature"`
	ToolChoice         string            `json:"tool_choice"`
	Tools              []json.RawMessage `json:"tools"`
	TopP               *float64          `json:"top_p"`
	PreviousResponseID *string           `json:"previous_response_id"`
	Store              bool              `json:"store"`
	Truncation         string            `json:"truncation"`
	Usage              *responseUsage    `json:"usage"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type responseUsage struct {
	InputTokens        int            `json:"input_tokens"`
	InputTokensDetails map[string]int `json:"input_tokens_details"`
	OutputTokens       int            `json:"output_tokens"`
	OutputDetails      map[string]int `json:"output_tokens_details"`
	TotalTokens        int            `json:"total_tokens"`
}

// outputMessage is the answer as an item of the output.
type outputMessage struct {
	ID      string       `json:"id"`
	Type    string       `json:"type"`
	Status  string       `json:"status"`
	Role    string       `json:"role"`
	Content []outputText `json:"content"`
}

type outputText struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
	Logprobs    []any  `json:"logprobs"`
}

// outputCall is a call of a function of the caller.
type outputCall struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// outputSearch is the search of file_search.
type outputSearch struct {
	ID      string   `json:"id"`
	Type    string   `json:"type"`
	Status  string   `json:"status"`
	Queries []string `json:"queries"`
	Results *[]any   `json:"results"`
}

func newResponse(in *responseRequest, searches bool) *response {
	f := &response{events: in.Stream, searches: searches}
	f.responseBody = responseBody{
		ID: newID("resp_"), Object: "response", CreatedAt: time.Now().Unix(), Status: "in_progress", Model: in.Model, Metadata: map[string]string{},
		Output: []any{}, ParallelToolCalls: true, ToolChoice: "auto", Tools: in.Tools, Truncation: "disabled",
	}
	if in.Instructions != "" {
		f.Instructions = &in.Instructions
	}
	if in.Tools == nil {
		f.Tools = []json.RawMessage{}
	}
	return f
}

func messageItem(id, status string, parts ...outputText) outputMessage {
	if parts == nil {
		parts = []outputText{}
	}
	return outputMessage{id, "message", status, "assistant", parts}
}

func textPart(text string, annotations []annotation) outputText {
	part := outputText{"output_text", text, make([]any, len(annotations)), []any{}}
	for i, a := range annotations {
		part.Annotations[i] = a.either()
	}
	return part
}

// finish sets what is known at the end.
func (f *response) finish(said *utterance) {
	f.Status = "completed"
	f.Usage = &responseUsage{
		InputTokens: said.input, InputTokensDetails: map[string]int{"cached_tokens": 0},
		OutputTokens: said.output, OutputDetails: map[string]int{"reasoning_tokens": 0}, TotalTokens: said.input + said.output,
	}
}

func (f *response) streamed() bool { return f.events }

func (f *response) whole(said *utterance) any {
	if f.searches {
		f.Output = append(f.Output, searchItem())
	}
	if said.text != "" || len(said.calls) == 0 {
		f.Output = append(f.Output, messageItem(newID("msg_"), "completed", textPart(said.text, said.annotations)))
	}
	for _, call := range said.calls {
		f.Output = append(f.Output, callItem(call, "completed"))
	}
	f.finish(said)
	return f.responseBody
}

func searchItem() outputSearch {
	return outputSearch{ID: newID("fs_"), Type: "file_search_call", Status: "completed", Queries: []string{}}
}

func callItem(call llm.ToolCall, status string) outputCall {
	return outputCall{newID("fc_"), "function_call", status, call.ID, call.Name, call.Arguments}
}
