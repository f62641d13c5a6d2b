package agent

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Limits of what a caller brings along.
const (
	maxHistoryMessages = 200
	maxHistoryBytes    = 512 << 10
	maxCallerTools     = 64
	maxCallerToolBytes = 64 << 10 // of all, with their schemas
)

// toolPattern matches the names of tools that models accept.
var toolPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// check returns an error if a question cannot be asked. Errors: Invalid.
func (q Question) check() error {
	if strings.TrimSpace(q.Message) == "" && !q.afterResults() {
		return fault.Field("message", "is empty")
	}
	if err := textlimit.Check("message", q.Message, MaxMessageBytes); err != nil {
		return err
	}
	switch {
	case q.ThreadID != "" && len(q.History) > 0:
		return fault.Field("history", "has no place beside threadId: the thread has what was said before")
	case q.ThreadID != "" && len(q.Tools) > 0:
		return fault.Field("tools", "have no place beside threadId: a thread keeps no calls of tools")
	case q.afterResults() && len(recent(q.History)) == 0:
		return fault.Field("history", "has more than %d messages or %d bytes since the user's last message", maxHistoryMessages, maxHistoryBytes)
	}
	for i, m := range q.History {
		if err := textlimit.Check(fmt.Sprintf("history[%d]", i), m.Text, MaxMessageBytes); err != nil {
			return err
		}
	}
	if len(q.Tools) > maxCallerTools {
		return fault.Field("tools", "must be at most %d, got %d", maxCallerTools, len(q.Tools))
	}
	names, bytes := map[string]bool{}, 0
	for i, t := range q.Tools {
		field := fmt.Sprintf("tools[%d].name", i)
		switch bytes += len(t.Description) + len(t.Parameters); {
		case !toolPattern.MatchString(t.Name):
			return fault.Field(field, "must be 1 to 64 letters, digits, _ and -")
		case names[t.Name]:
			return fault.Field(field, "%q is the name of an earlier tool, too", t.Name)
		case bytes > maxCallerToolBytes:
			return fault.Field("tools", "must have at most %d bytes of descriptions and parameters", maxCallerToolBytes)
		}
		names[t.Name] = true
	}
	return nil
}

// afterResults reports whether the model is to go on after results of tools.
func (q Question) afterResults() bool {
	return q.Message == "" && len(q.History) > 0 && q.History[len(q.History)-1].Role == llm.ToolRole
}

// recent returns the newest messages that fit into the limits, from one of the user on.
func recent(messages []llm.Message) []llm.Message {
	bytes, from := 0, len(messages)
	for from > 0 && len(messages)-from < maxHistoryMessages {
		if bytes += bytesOf(messages[from-1]); bytes > maxHistoryBytes {
			break
		}
		from--
	}
	for from > 0 && from < len(messages) && messages[from].Role != llm.User {
		from++
	}
	return messages[from:]
}

// offerCallers offers the tools of the caller beside those of the agent. Errors: Invalid for a name
// that a tool of the agent has.
func (r *run) offerCallers() error {
	for i, t := range r.question.Tools {
		if _, taken := r.tools[t.Name]; taken {
			return fault.Field(fmt.Sprintf("tools[%d].name", i), "%q is a tool of agent %q: choose another name", t.Name, r.agent.Name)
		}
		r.offered = append(r.offered, t)
	}
	return nil
}

// callersCalls returns those calls that the caller is to make.
func (r *run) callersCalls(calls []llm.ToolCall) (own []llm.ToolCall) {
	for _, call := range calls {
		if slices.ContainsFunc(r.question.Tools, func(t llm.Tool) bool { return t.Name == call.Name }) {
			own = append(own, call)
		}
	}
	return own
}
