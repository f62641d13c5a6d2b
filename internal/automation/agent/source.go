package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

var messageInput = json.RawMessage(`{
	"type": "object",
	"additionalProperties": false,
	"properties": {
		"message": {"type": "string", "description": "What to ask the agent, in full sentences: it does not see your conversation."},
		"threadId": {"type": "string", "description": "Continues a conversation: the same id again. Any new id begins one. Leave it out for a single question."}
	},
	"required": ["message"]
}`)

// answerOutput is the schema of the structured content; %s is that of an answer in JSON.
const answerOutput = `{
	"type": "object",
	"properties": {
		"text": {"type": "string", "description": "The answer; [1] cites the citation of that number."},
		%s"citations": {"type": "array", "items": {"type": "object", "properties": {
			"number": {"type": "integer"}, "uri": {"type": "string"}, "documentId": {"type": "string"}, "title": {"type": "string"},
			"startByte": {"type": "integer"}, "endByte": {"type": "integer"}, "text": {"type": "string"}
		}, "required": ["number", "text"]}},
		"usage": {"type": "object"},
		"grounding": {"type": "object"}
	},
	"required": ["text", "citations", "usage"]
}`

// answerTime is what a call may take beyond the time of its agent.
const answerTime = 5 * time.Second

// askTools are the tools that ask agents.
type askTools struct{ service *Service }

// Source returns the tools ask_NAME of the caller's agents.
func (s *Service) Source() toolset.Source { return askTools{s} }

// Tools implements toolset.Source.
func (t askTools) Tools(ctx context.Context) ([]toolset.Definition, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	all, err := t.service.all(ctx, r, "")
	tools := make([]toolset.Definition, len(all))
	for i, a := range all {
		object := ""
		if a.OutputSchema != nil {
			object = fmt.Sprintf("%q: %s, ", "object", a.OutputSchema)
		}
		readOnly, open := len(a.MayWrite) == 0, true
		tools[i] = toolset.Definition{
			Name: ToolPrefix + a.Name, Title: a.Title, Description: a.Description, Kind: ToolKind, Timeout: time.Duration(cmp.Or(a.Limits.Seconds, defaultSeconds))*time.Second + answerTime,
			InputSchema: messageInput, OutputSchema: json.RawMessage(fmt.Sprintf(answerOutput, object)),
			Annotations: toolset.Annotations{ReadOnlyHint: &readOnly, OpenWorldHint: &open},
		}
	}
	return tools, err
}

// Run implements toolset.Source.
func (t askTools) Run(ctx context.Context, d toolset.Definition, c toolset.Call) (toolset.Result, error) {
	var given struct{ Message, ThreadID string }
	if err := json.Unmarshal(c.Arguments, &given); err != nil {
		return toolset.Result{}, fmt.Errorf("read the arguments: %w", err)
	}
	done := 0.0
	answer, err := t.service.Ask(ctx, Question{
		Agent: strings.TrimPrefix(d.Name, ToolPrefix), Message: given.Message, ThreadID: given.ThreadID,
		OnEvent: func(e Event) error {
			if c.Progress != nil && e.Kind != TextPiece {
				done++
				c.Progress(ctx, toolset.Progress{Done: done, Message: e.String()})
			}
			return nil
		},
	})
	if err != nil {
		return toolset.Result{}, err
	}
	structured, err := json.Marshal(answer)
	return toolset.Result{Structured: structured, Text: answer.Readable()}, err
}
