package modelserver

// Chat is a request for a chat completion.
type Chat struct {
	Model  string
	System string // the system messages, joined
	User   string // the user messages, joined
	// Format is the type of response_format: "json_schema", "json_object" or "".
	Format string
	Schema map[string]any // the schema, when Format is json_schema
	// Messages are all messages in their order.
	Messages []Message
	Tools    []string // the names of the tools offered
	Stream   bool
}

// Message is a message of a conversation.
type Message struct {
	Role, Content string
	Calls         []Call // of an assistant
	CallID        string // of a tool's result
}

// Results returns the contents of the messages with results of tools.
func (c Chat) Results() (results []string) {
	for _, m := range c.Messages {
		if m.Role == "tool" {
			results = append(results, m.Content)
		}
	}
	return results
}

func chatOf(r Request) Chat {
	c := Chat{}
	c.Model, _ = r.Body["model"].(string)
	c.Stream, _ = r.Body["stream"].(bool)
	messages, _ := r.Body["messages"].([]any)
	for _, m := range messages {
		message, _ := m.(map[string]any)
		said := messageOf(message)
		c.Messages = append(c.Messages, said)
		switch said.Role {
		case "user":
			c.User += said.Content
		case "assistant", "tool":
		default:
			c.System += said.Content
		}
	}
	tools, _ := r.Body["tools"].([]any)
	for _, t := range tools {
		tool, _ := t.(map[string]any)
		function, _ := tool["function"].(map[string]any)
		name, _ := function["name"].(string)
		c.Tools = append(c.Tools, name)
	}
	if format, ok := r.Body["response_format"].(map[string]any); ok {
		c.Format, _ = format["type"].(string)
		if schema, ok := format["json_schema"].(map[string]any); ok {
			c.Schema, _ = schema["schema"].(map[string]any)
		}
	}
	return c
}

func messageOf(message map[string]any) (said Message) {
	said.Role, _ = message["role"].(string)
	said.Content, _ = message["content"].(string)
	said.CallID, _ = message["tool_call_id"].(string)
	calls, _ := message["tool_calls"].([]any)
	for _, c := range calls {
		call, _ := c.(map[string]any)
		function, _ := call["function"].(map[string]any)
		var asked Call
		asked.Name, _ = function["name"].(string)
		asked.Arguments, _ = function["arguments"].(string)
		said.Calls = append(said.Calls, asked)
	}
	return said
}

// completions answers POST /v1/chat/completions.
func (s *Server) completions(r Request) any {
	c := chatOf(r)
	var turn Turn
	s.mu.Lock()
	answer := s.Turn
	s.mu.Unlock()
	if answer != nil {
		turn = answer(c)
	} else {
		turn.Text = s.Chat(c)
	}
	used := usage(c.System, c.User)
	out := (len(turn.Text) + 3) / 4
	used["completion_tokens"] = out
	used["total_tokens"] = used["prompt_tokens"].(int) + out
	if c.Stream && !turn.Whole {
		return streamed{turn, c.Model, used}
	}
	message := map[string]any{"role": "assistant", "content": turn.Text}
	if len(turn.Calls) > 0 {
		message["tool_calls"] = turn.calls()
	}
	return map[string]any{
		"id": "chat-1", "object": "chat.completion", "created": 1, "model": c.Model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": turn.finish(), "message": message}},
		"usage":   used,
	}
}
