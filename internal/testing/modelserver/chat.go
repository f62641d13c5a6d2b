package modelserver

// Chat is a request for a chat completion.
type Chat struct {
	Model  string
	System string // the system messages, joined
	User   string // the user messages, joined
	// Format is the type of response_format: "json_schema", "json_object" or "".
	Format string
	Schema map[string]any // the schema, when Format is json_schema
}

// completions answers POST /v1/chat/completions.
func (s *Server) completions(r Request) any {
	c := Chat{}
	c.Model, _ = r.Body["model"].(string)
	messages, _ := r.Body["messages"].([]any)
	for _, m := range messages {
		message, _ := m.(map[string]any)
		content, _ := message["content"].(string)
		if message["role"] == "user" {
			c.User += content
		} else {
			c.System += content
		}
	}
	if format, ok := r.Body["response_format"].(map[string]any); ok {
		c.Format, _ = format["type"].(string)
		if schema, ok := format["json_schema"].(map[string]any); ok {
			c.Schema, _ = schema["schema"].(map[string]any)
		}
	}
	content := s.Chat(c)
	used := usage(c.System, c.User)
	out := (len(content) + 3) / 4
	used["completion_tokens"] = out
	used["total_tokens"] = used["prompt_tokens"].(int) + out
	return map[string]any{
		"id": "chat-1", "object": "chat.completion", "created": 1, "model": c.Model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": content}}},
		"usage":   used,
	}
}
