package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/automation/agent"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// FootnotesHeader says whether answers have their sources below the text: true or false. By default
// chat completions have them, as few chat programs show annotations, and responses do not.
const FootnotesHeader = "Ragd-Footnotes"

// Models of conversations: agentModel and the name of an agent; passagesModel alone, or with / and the
// name of an index.
const (
	agentModel    = "agent/"
	passagesModel = "passages"
)

// conversation is a request for an answer, in whichever form it came.
type conversation struct {
	model     string
	field     string // of the request, with the messages
	messages  []llm.Message
	asked     string          // the last text of the role user
	pending   map[string]bool // ids of calls without results
	tools     []llm.Tool
	toolsAt   []string    // the field of each in the request
	search    *fileSearch // nil for all that the caller may search
	thread    string      // "" for none
	footnotes bool
}

// utterance is the answer in a conversation.
type utterance struct {
	text        string
	citations   []agent.Citation
	calls       []llm.ToolCall
	input       int // tokens
	output      int // tokens
	annotations []annotation
}

// ignored are parameters that both forms accept without an effect: the definition of an agent says how its
// model chooses tokens.
type ignored struct {
	Temperature          any `json:"temperature"`
	TopP                 any `json:"top_p"`
	TopLogprobs          any `json:"top_logprobs"`
	Metadata             any `json:"metadata"`
	Store                any `json:"store"`
	User                 any `json:"user"`
	ParallelToolCalls    any `json:"parallel_tool_calls"`
	ServiceTier          any `json:"service_tier"`
	SafetyIdentifier     any `json:"safety_identifier"`
	PromptCacheKey       any `json:"prompt_cache_key"`
	PromptCacheRetention any `json:"prompt_cache_retention"`
}

// footnotesOf reads FootnotesHeader. Errors: Invalid.
func footnotesOf(r *http.Request, standard bool) (bool, error) {
	given := r.Header.Get(FootnotesHeader)
	if given == "" {
		return standard, nil
	}
	wanted, err := strconv.ParseBool(given)
	if err != nil {
		return false, fault.Field(FootnotesHeader, "must be true or false, got %q", shorten(given))
	}
	return wanted, nil
}

// say adds a message. What the same side says several times is one message, as some models require. Texts of
// the roles system and developer are the user's: the instructions are those of the agent. Errors: Invalid.
func (c *conversation) say(at, role, text string, calls ...llm.ToolCall) error {
	said := llm.Message{Role: llm.User, Text: text, Calls: calls}
	switch role {
	case "user", "system", "developer":
	case "assistant":
		said.Role, said.Text = llm.Assistant, withoutFootnotes(text)
	default:
		return fault.Field(at+".role", "%q is unknown; known are system, developer, user, assistant and tool", shorten(role))
	}
	if strings.TrimSpace(text) == "" && len(calls) == 0 {
		return nil
	}
	if err := textlimit.Check(at, text, agent.MaxMessageBytes); err != nil {
		return err
	}
	if role == "user" {
		c.asked = text
	}
	last := len(c.messages) - 1
	if len(c.pending) > 0 && (said.Role != llm.Assistant || last < 0 || c.messages[last].Role != llm.Assistant) {
		return fault.Field(at, "stands before the results of all calls of tools: each needs one")
	}
	for _, call := range calls {
		if call.ID == "" || call.Name == "" || c.pending[call.ID] {
			return fault.Field(at, "has a call of a tool without an id of its own, or without a name")
		}
		if c.pending == nil {
			c.pending = map[string]bool{}
		}
		c.pending[call.ID] = true
	}
	if last >= 0 && c.messages[last].Role == said.Role {
		m := &c.messages[last]
		m.Text, m.Calls = joined(m.Text, said.Text), append(m.Calls, calls...)
		return nil
	}
	c.messages = append(c.messages, said)
	return nil
}

// result adds the result of a call. Errors: Invalid.
func (c *conversation) result(at, callID, text string) error {
	if !c.pending[callID] {
		return fault.Field(at, "is the result of the call %q, which the messages before it do not have", shorten(callID))
	}
	if err := textlimit.Check(at, text, agent.MaxMessageBytes); err != nil {
		return err
	}
	delete(c.pending, callID)
	c.messages = append(c.messages, llm.Message{Role: llm.ToolRole, CallID: callID, Text: text})
	return nil
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// question returns what is asked and what was said before. Errors: Invalid.
func (c *conversation) question() (asked string, before []llm.Message, err error) {
	last := len(c.messages) - 1
	switch {
	case last < 0:
		return "", nil, fault.Field(c.field, "has no text of the user")
	case len(c.pending) > 0:
		return "", nil, fault.Field(c.field, "ends before the results of all calls of tools: each needs one")
	case c.messages[last].Role == llm.User:
		return c.messages[last].Text, c.messages[:last], nil
	case c.messages[last].Role == llm.ToolRole:
		return "", c.messages, nil
	}
	return "", nil, fault.Field(c.field, "must end with a message of the user, or with the result of a tool")
}

// textOf returns the text of a message: a string, or parts of which all are texts. Errors: Invalid.
func textOf(at string, raw json.RawMessage) (text string, err error) {
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type    string  `json:"type"`
		Text    *string `json:"text"`
		Refusal string  `json:"refusal"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", fault.Field(at, "must be a string or an array of parts")
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		switch {
		case p.Text != nil:
			texts[i] = *p.Text
		case p.Type == "refusal":
			texts[i] = p.Refusal
		default:
			return "", fault.Field(fmt.Sprintf("%s[%d].type", at, i), "%q is not supported: parts are texts, of the type text, input_text or output_text", shorten(p.Type))
		}
	}
	return strings.Join(texts, "\n"), nil
}

// offeredTool is a function of the caller.
type offeredTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      any             `json:"strict"`
}

// noParameters is the schema of a function without parameters.
const noParameters = `{"type":"object","properties":{}}`

// offer adds a function of the caller. Errors: Invalid.
func (c *conversation) offer(at string, t offeredTool) error {
	if t.Parameters == nil || string(t.Parameters) == "null" {
		t.Parameters = json.RawMessage(noParameters)
	}
	if t.Parameters[0] != '{' {
		return fault.Field(at+".parameters", "must be a JSON Schema of an object")
	}
	c.toolsAt = append(c.toolsAt, at)
	c.tools = append(c.tools, llm.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	return nil
}

// choose applies tool_choice. Errors: Invalid for what a model would have to be forced to.
func (c *conversation) choose(choice any) error {
	if chosen, ok := choice.(map[string]any); ok && c.search != nil && chosen["type"] == "file_search" {
		return nil
	}
	switch choice {
	case nil, "auto":
	case "none":
		c.tools = nil
	default:
		return fault.Field("tool_choice", "must be auto or none: an agent decides itself what it calls")
	}
	return nil
}

// converse answers. tell is called with the pieces of the text as they arrive, and with "" when something else
// happens; nil if that is not wanted.
func (h *Handler) converse(ctx context.Context, c *conversation, tell func(piece string) error) (*utterance, error) {
	asked, before, err := c.question()
	if err != nil {
		return nil, err
	}
	if ctx, err = h.narrowed(ctx, c.search); err != nil {
		return nil, err
	}
	name, isAgent := strings.CutPrefix(c.model, agentModel)
	indexName, ofIndex := strings.CutPrefix(c.model, passagesModel+"/")
	var said *utterance
	switch {
	case isAgent:
		said, err = h.askAgent(ctx, c, agent.Question{Agent: name, Message: asked, History: before, Tools: c.tools, ThreadID: c.thread}, tell)
	case c.model == passagesModel || ofIndex:
		if !ofIndex {
			indexName = ""
		}
		said, err = h.passages(ctx, c, indexName)
		if err == nil && tell != nil {
			err = tell(said.text)
		}
	case c.model == "":
		return nil, fault.Field("model", "is missing: agent/NAME, passages or passages/INDEX")
	default:
		return nil, unknownModel(fault.New(fault.NotFound, "model %q does not answer here: models are agent/NAME, passages and passages/INDEX; GET /v1/models lists them", shorten(c.model)))
	}
	if err != nil {
		return nil, err
	}
	return said, c.conclude(said, tell)
}

// unknownModel returns err as one of the field model.
func unknownModel(err *fault.Error) error {
	err.Violations = []fault.Violation{{Field: "model", Reason: "does not exist"}}
	return err
}

// conclude adds the annotations and the footnotes.
func (c *conversation) conclude(said *utterance, tell func(string) error) error {
	said.annotations = annotationsOf(said.text, said.citations)
	if notes := footnotes(said.citations); c.footnotes && notes != "" {
		said.text += notes
		if tell != nil {
			return tell(notes)
		}
	}
	return nil
}

// askAgent asks an agent, as AskAgent does.
func (h *Handler) askAgent(ctx context.Context, c *conversation, q agent.Question, tell func(string) error) (*utterance, error) {
	var t transcript
	if tell != nil {
		q.OnEvent = func(e agent.Event) error { return tell(t.add(e)) }
	}
	answer, err := h.config.Agents.Ask(ctx, q)
	if err != nil {
		return nil, c.agentError(q.Agent, err)
	}
	said := &utterance{text: answer.Text, citations: answer.Citations, calls: answer.Calls, input: answer.Usage.InputTokens, output: answer.Usage.OutputTokens}
	if tell != nil {
		if rest := t.rest(answer.Text); rest != "" {
			err = tell(rest)
		}
		said.text = t.text.String()
	}
	return said, err
}

// agentError returns an error of Ask with the names of the fields here.
func (c *conversation) agentError(name string, err error) error {
	var missing *fault.Error
	if fault.KindOf(err) == fault.NotFound && errors.As(err, &missing) {
		return unknownModel(fault.New(fault.NotFound, "model %q: %s", shorten(agentModel+name), missing.Message))
	}
	for from, to := range map[string]string{"message": c.field, "history": c.field, "threadId": "conversation"} {
		err = fault.Rename(from, to, err)
	}
	for i := len(c.toolsAt) - 1; i >= 0; i-- { // from the last: the number in the request is the same or higher
		err = fault.Rename(fmt.Sprintf("tools[%d].name", i), c.toolsAt[i]+".name", err)
	}
	return err
}

// transcript is what was sent of an answer that arrives in pieces. The model may say something before it calls
// tools, which then stands above the answer.
type transcript struct {
	text  strings.Builder
	apart bool // a step has begun since the last piece
	said  bool // in the current step
}

// add returns the text that an event adds; "" for none.
func (t *transcript) add(e agent.Event) string {
	switch {
	case e.Kind == agent.StepBegun:
		t.apart, t.said = t.text.Len() > 0, false
	case e.Kind == agent.TextPiece && e.Text != "":
		return t.write(e.Text)
	}
	return ""
}

func (t *transcript) write(piece string) string {
	if t.apart {
		piece = "\n\n" + piece
	}
	t.apart, t.said = false, true
	t.text.WriteString(piece)
	return piece
}

// rest returns what of the answer was not sent: all of it, if it did not arrive in pieces.
func (t *transcript) rest(answer string) string {
	if t.said || answer == "" {
		return ""
	}
	return t.write(answer)
}
