package task

import (
	"encoding/json"
	"strconv"

	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// requests are what a task asks its client for.
type requests struct {
	byKey    map[string]json.RawMessage // in the JSON of MCP
	ids      map[string]string          // of the tool, by key
	state    string                     // of the tool
	question bool                       // asked by the service, for arguments
}

// asks returns what a call that has returned asks for; nil for nothing. A client that cannot be asked is an error of
// the call.
func (t *running) asks() *requests {
	if t.err != nil {
		return nil
	}
	asked := t.result.Asked
	if q := t.result.Question; q != nil {
		raw, err := json.Marshal(map[string]any{
			"method": "elicitation/create", "params": map[string]any{"mode": "form", "message": q.Message, "requestedSchema": q.Schema},
		})
		if err != nil {
			t.err = err
			return nil
		}
		asked = &toolset.Asked{Requests: map[string]json.RawMessage{"arguments": raw}}
	}
	if asked == nil {
		return nil
	}
	if t.err = t.call.CheckAsked(asked); t.err != nil {
		return nil
	}
	t.rounds++
	made := &requests{byKey: map[string]json.RawMessage{}, ids: map[string]string{}, state: asked.State, question: t.result.Question != nil}
	for id, request := range asked.Requests {
		key := strconv.Itoa(t.rounds) + "." + id // not used in another round
		made.byKey[key], made.ids[key] = request, id
	}
	return made
}

// answered reports whether all requests are.
func (r *requests) answered(answers map[string]json.RawMessage) bool {
	for key := range r.byKey {
		if answers[key] == nil {
			return false
		}
	}
	return true
}

// resume returns the call with the answers.
func (r *requests) resume(c toolset.Call, answers map[string]json.RawMessage) toolset.Call {
	if r.question {
		c.Answers = json.RawMessage(`{}`)
		for key := range r.byKey {
			if content, ok := toolset.Accepted(answers[key]); ok && content != nil {
				c.Answers = content
			}
		}
		return c
	}
	client := *c.Client
	client.State, client.Responses = r.state, map[string]json.RawMessage{}
	for key, id := range r.ids {
		client.Responses[id] = answers[key]
	}
	c.Client = &client
	return c
}
