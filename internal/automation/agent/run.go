package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/automation/memory"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
	"github.com/ragdhq/ragd/internal/tool/remote"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// Question is what a caller asks an agent.
type Question struct {
	Agent   string
	Message string
	// ThreadID continues or begins a conversation; "" for a single question.
	ThreadID string
	// History is what was said before Message, by callers that keep the conversation themselves. The
	// oldest messages beyond the limits are left out. If it ends with results of tools, Message may be empty.
	History []llm.Message
	// Tools are functions of the caller, which the model is offered beside those of the agent. A turn that
	// calls any of them ends the run with Answer.Calls.
	Tools []llm.Tool
	// OnEvent is called as the run proceeds; nil if that is not wanted. Its error ends the run.
	OnEvent func(Event) error
}

// Answer is what an agent says.
type Answer struct {
	Text string `json:"text"`
	// Object is the answer in JSON, of an agent with an OutputSchema.
	Object    json.RawMessage `json:"object,omitempty"`
	Citations []Citation      `json:"citations"`
	Usage     Usage           `json:"usage"`
	// Calls are of Question.Tools. The caller makes them and asks again with their results in the history.
	Calls []llm.ToolCall `json:"-"`
	// Grounding is set for agents that check their answers.
	Grounding *Grounded `json:"grounding,omitempty"`
}

// Usage is what an answer has taken.
type Usage struct {
	Steps        int     `json:"steps"` // turns of the model
	ToolCalls    int     `json:"toolCalls"`
	InputTokens  int     `json:"inputTokens"` // with those of agents that it asked
	OutputTokens int     `json:"outputTokens"`
	Cost         float64 `json:"cost"` // by the agent's prices
	// RemovedCitations counts the numbers that were removed because no passage has them or because
	// the quotation before them does not stand in the passage.
	RemovedCitations int `json:"removedCitations"`
}

// Add adds the usage of another answer.
func (u *Usage) Add(other Usage) {
	u.Steps += other.Steps
	u.ToolCalls += other.ToolCalls
	u.InputTokens += other.InputTokens
	u.OutputTokens += other.OutputTokens
	u.Cost += other.Cost
	u.RemovedCitations += other.RemovedCitations
}

// Readable returns the text with the citations below it.
func (a Answer) Readable() string {
	var b strings.Builder
	b.WriteString(a.Text)
	for i, c := range a.Citations {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "\n[%d] %s, bytes %d to %d", c.Number, cmp.Or(c.Title, c.URI, c.DocumentID), c.StartByte, c.EndByte)
		if c.Title != "" && c.URI != "" {
			b.WriteString(", " + c.URI)
		}
	}
	return b.String()
}

// EventKind is what an Event reports.
type EventKind string

// The kinds.
const (
	StepBegun  EventKind = "step"
	ToolCalled EventKind = "tool"
	ToolEnded  EventKind = "toolResult"
	TextPiece  EventKind = "text"
)

// Event is a step of a run.
type Event struct {
	Kind      EventKind
	Step      int             // from 1
	Model     string          // of StepBegun
	Call      int             // of ToolCalled and ToolEnded: the number of the call in the run, from 1
	Tool      string          // of ToolCalled and ToolEnded
	Arguments json.RawMessage // of ToolCalled
	Error     string          // of ToolEnded; "" for success
	Took      time.Duration   // of ToolEnded
	Text      string          // of TextPiece
}

// String returns the event for people.
func (e Event) String() string {
	switch e.Kind {
	case ToolCalled:
		return "Calls " + e.Tool + "."
	case ToolEnded:
		if e.Error != "" {
			return e.Tool + " failed."
		}
		return e.Tool + " has answered."
	case TextPiece:
		return e.Text
	}
	return fmt.Sprintf("Step %d.", e.Step)
}

// Limits of a run.
const (
	MaxMessageBytes = 64 << 10 // of a question
	maxResultBytes  = 64 << 10 // of one result of a tool
	maxRunBytes     = 2 << 20  // of all messages of a run
	memoryFactor    = 4        // bytes of memory for a byte of a message: with its passages and as JSON for the model
	maxBadAnswers   = 2        // that do not fit the output schema
)

// run is one question being answered. Not safe for concurrent use.
type run struct {
	service  *Service
	agent    Agent
	question Question
	chosen   chosen
	tools    map[string]toolset.Definition
	bound    []string // the tools that the caller may use; nil for all
	offered  []llm.Tool
	messages []llm.Message
	bytes    int            // of the messages
	calls    map[string]int // by tool and arguments
	passages []Citation
	results  []string // of tools that find no passages
	usage    Usage    // without what spent has
	spent    *spending
	limits   Limits
	schema   *schema.Schema
}

// Ask answers a question. The calls of tools have the rights of the caller. Answer.Usage is set even
// if there is an error. Errors: NotFound for an agent that the caller may not use; Invalid; Exhausted when a limit of the agent ends the run;
// Deadline when it takes too long; Denied if the tenant's plan has no agents; Unavailable for an answer that does not fit the output schema;
// those of llm.Client.Chat.
func (s *Service) Ask(ctx context.Context, q Question) (Answer, error) {
	if err := access.CheckFeature(ctx, quota.Agents); err != nil {
		return Answer{}, err
	}
	a, err := s.Get(ctx, q.Agent)
	if err != nil {
		return Answer{}, err
	}
	if err := q.check(); err != nil {
		return Answer{}, err
	}
	limits := Limits{
		Steps: cmp.Or(a.Limits.Steps, defaultSteps), Tokens: cmp.Or(a.Limits.Tokens, defaultTokens),
		Seconds: cmp.Or(a.Limits.Seconds, defaultSeconds), Cost: a.Limits.Cost,
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(limits.Seconds)*time.Second)
	defer cancel()
	r := &run{service: s, agent: a, question: q, limits: limits, spent: newSpending(ctx, a.Name, limits), calls: map[string]int{}}
	answer, err := r.answer(limited)
	if err == nil {
		return answer, nil
	}
	answer = Answer{Usage: r.used()}
	if limited.Err() != nil && ctx.Err() == nil {
		return answer, fault.New(fault.Deadline, "agent %q has not answered within %d seconds (limits.seconds)", a.Name, limits.Seconds)
	}
	return answer, err
}

// answer prepares the run and takes its steps.
func (r *run) answer(ctx context.Context) (Answer, error) {
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return Answer{}, err
	}
	if r.chosen, err = r.service.choose(ctx, r.agent); err != nil {
		return Answer{}, err
	}
	if r.agent.OutputSchema != nil {
		if r.schema, err = schema.Compile("outputSchema", r.agent.OutputSchema); err != nil {
			return Answer{}, err
		}
	}
	inside := r.within(ctx, caller)
	r.offer(r.unbound(inside))
	if err := r.offerCallers(); err != nil {
		return Answer{}, err
	}
	if err := r.begin(ctx, caller); err != nil {
		return Answer{}, err
	}
	text, err := r.steps(inside, caller)
	if err != nil {
		return Answer{}, err
	}
	if err := r.ground(ctx, &text); err != nil {
		return Answer{}, err
	}
	if r.question.ThreadID != "" {
		err = remember(ctx, r.service.DB.Handle(caller.Tenant), r.agent.Name, subjectOf(caller), r.question.ThreadID,
			ThreadMessage{string(llm.User), r.question.Message}, ThreadMessage{string(llm.Assistant), text.Text})
	}
	return text, err
}

// within returns the context of the calls of tools: the agent's tools take the place of those of
// the caller's bounds, and its indexes bound those of the caller.
func (r *run) within(ctx context.Context, caller *access.Request) context.Context {
	changed := *caller
	r.bound = caller.Bounds.Tools
	changed.Bounds = changed.Bounds.Intersect(access.Bounds{Indexes: r.agent.Indexes})
	changed.Bounds.Tools = r.names()
	// Calls of a model differ each time, so that they must not share the key of a workflow's step.
	ctx = memory.WithSource(ctx, memory.Source{Agent: r.agent.Name, ThreadID: r.question.ThreadID, Message: r.question.Message})
	return withSpending(remote.WithIdempotencyKey(access.NewContext(ctx, &changed), ""), r.spent)
}

// unbound returns the context in which tools are looked up: what a tool calls in turn, which tells
// whether it may change something, need not be among the agent's tools.
func (r *run) unbound(inside context.Context) context.Context {
	caller, ok := access.FromContext(inside)
	if !ok {
		return inside
	}
	changed := *caller
	changed.Bounds.Tools = nil
	return access.NewContext(inside, &changed)
}

// defaultTools are offered by an agent that names none.
var defaultTools = []string{"vector_query", "graph_rag", "research", "list_indexes", "describe_index", "list_documents", "get_document", "list_topics", "count_chunks", "fetch"}

func (r *run) names() []string {
	if r.chosen.tools == nil {
		return defaultTools
	}
	return r.chosen.tools
}

// offer finds the tools that the model is offered: of the agent's, those that exist, that the
// caller may use, and that change nothing unless the agent says that they may.
func (r *run) offer(ctx context.Context) {
	r.tools = map[string]toolset.Definition{}
	for _, d := range r.service.Tools().All(ctx, toolset.View{}) {
		if !slices.Contains(r.names(), d.Name) || !d.ReadOnly() && !slices.Contains(r.agent.MayWrite, d.Name) {
			continue
		}
		r.tools[d.Name] = d
		r.offered = append(r.offered, llm.Tool{Name: d.Name, Description: d.Description, Parameters: d.InputSchema})
	}
}

// begin builds the messages up to the question.
func (r *run) begin(ctx context.Context, caller *access.Request) error {
	if err := r.say(ctx, llm.Message{Role: llm.System, Text: r.chosen.instructions + "\n\n" + dataRule}); err != nil {
		return err
	}
	if id := r.question.ThreadID; id != "" {
		if err := checkThread(id); err != nil {
			return err
		}
		said, err := history(ctx, r.service.DB.Handle(caller.Tenant), r.agent.Name, subjectOf(caller), id)
		if err != nil {
			return err
		}
		for _, m := range said {
			if err := r.say(ctx, llm.Message{Role: llm.Role(m.Role), Text: m.Text}); err != nil {
				return err
			}
		}
	}
	if err := r.say(ctx, recent(r.question.History)...); err != nil {
		return err
	}
	if r.question.afterResults() {
		return nil
	}
	return r.say(ctx, llm.Message{Role: llm.User, Text: r.question.Message})
}

// say adds messages. Errors: Exhausted when the tenant's runs take too much memory.
func (r *run) say(ctx context.Context, messages ...llm.Message) error {
	before := r.bytes
	for _, m := range messages {
		r.bytes += bytesOf(m)
	}
	r.messages = append(r.messages, messages...)
	return admission.Grow(ctx, memoryFactor*int64(r.bytes-before))
}

// bytesOf returns the bytes of the texts of a message.
func bytesOf(m llm.Message) int {
	n := len(m.Text)
	for _, call := range m.Calls {
		n += len(call.Name) + len(call.Arguments)
	}
	return n
}

func (r *run) tell(e Event) error {
	if r.question.OnEvent == nil {
		return nil
	}
	e.Step = r.usage.Steps
	return r.question.OnEvent(e)
}

// steps takes turns with the model until it answers without calling tools.
func (r *run) steps(ctx context.Context, caller *access.Request) (Answer, error) {
	bad := 0
	for {
		if err := r.checkLimits(); err != nil {
			return Answer{}, err
		}
		r.usage.Steps++
		if err := r.tell(Event{Kind: StepBegun, Model: r.chosen.model}); err != nil {
			return Answer{}, err
		}
		c := &citer{passages: r.passages}
		reply, err := r.turn(ctx, caller, c)
		r.count(reply)
		if err != nil {
			return Answer{}, err
		}
		if calls := r.callersCalls(reply.Calls); len(calls) > 0 && !reply.Cut {
			return Answer{Text: strings.TrimSpace(c.text.String()), Citations: c.citations(), Calls: calls, Usage: r.used()}, nil
		}
		if len(reply.Calls) > 0 {
			if err := r.runCalls(ctx, reply); err != nil {
				return Answer{}, err
			}
			continue
		}
		if reply.Cut {
			return Answer{}, fault.New(fault.Exhausted, "the answer of agent %q is longer than a turn may be: raise sampling.maxTokens", r.agent.Name)
		}
		answer, err := r.finish(reply, c)
		if err == nil {
			return answer, nil
		}
		if bad++; bad > maxBadAnswers {
			cause := endpoint.BadAnswer("an answer that does not fit the output schema")
			return Answer{}, fault.Wrap(fault.Unavailable, cause, "agent %q gave no answer that fits its output schema: %s", r.agent.Name, fault.Public(err))
		}
		if err := r.say(ctx, llm.Message{Role: llm.Assistant, Text: reply.Text}, llm.Message{Role: llm.User,
			Text: "That answer cannot be used: " + fault.Public(err) + ". Answer again with JSON of the schema alone."}); err != nil {
			return Answer{}, err
		}
	}
}

// bytesPerToken converts bytes to tokens where an endpoint does not count them.
const bytesPerToken = 4

// count adds what a turn has taken. An endpoint that counts no tokens does not escape the limits.
func (r *run) count(reply llm.Reply) {
	used := reply.Usage
	if used.InputTokens+used.OutputTokens == 0 && (reply.Text != "" || len(reply.Calls) > 0) {
		used.InputTokens, used.OutputTokens = r.bytes/bytesPerToken, len(reply.Text)/bytesPerToken
	}
	r.spent.add(used, r.agent.Prices.cost(used))
}

// used returns the usage so far.
func (r *run) used() Usage {
	u := r.usage
	u.InputTokens, u.OutputTokens, u.Cost = r.spent.sum()
	return u
}

// checkLimits returns an error if no further step may be taken.
func (r *run) checkLimits() error {
	if err := r.spent.check(); err != nil {
		return err
	}
	switch {
	case r.usage.Steps >= r.limits.Steps:
		return fault.New(fault.Exhausted, "agent %q has not answered within %d steps (limits.steps)", r.agent.Name, r.limits.Steps)
	case r.bytes > maxRunBytes:
		return fault.New(fault.Exhausted, "agent %q has read more than %d bytes without an answer", r.agent.Name, maxRunBytes)
	}
	return nil
}

// turn asks the model once. The last step offers no tools, so that it must answer.
func (r *run) turn(ctx context.Context, caller *access.Request, c *citer) (llm.Reply, error) {
	s := r.agent.Sampling
	chat := llm.Chat{
		Tenant: string(caller.Tenant), Model: r.chosen.model, Messages: r.messages, Tools: r.offered, MaxTokens: s.MaxTokens,
		Sampling: llm.Sampling{Temperature: s.Temperature, TopP: s.TopP, Seed: s.Seed, Stop: s.Stop},
	}
	if r.usage.Steps == r.limits.Steps && len(chat.Tools) > 0 {
		chat.ToolChoice = "none"
	}
	if r.schema != nil {
		shape := map[string]any{}
		if err := json.Unmarshal(r.agent.OutputSchema, &shape); err != nil {
			return llm.Reply{}, fmt.Errorf("read the output schema: %w", err)
		}
		chat.Schema = &llm.Schema{Name: "answer", JSON: shape}
		reply, err := r.service.Models.Chat(ctx, chat)
		return reply, unfit(r.agent, err)
	}
	if r.question.OnEvent != nil {
		chat.OnText = func(piece string) error { return r.pass(c.add(piece)) }
	}
	reply, err := r.service.Models.Chat(ctx, chat)
	if err != nil {
		return reply, unfit(r.agent, err)
	}
	if r.question.OnEvent == nil {
		c.add(reply.Text)
	}
	return reply, r.pass(c.end())
}

func (r *run) pass(text string) error {
	if text == "" || r.agent.Grounding == GroundingRemove { // which is told when it was checked
		return nil
	}
	return r.tell(Event{Kind: TextPiece, Text: text})
}

// finish returns the answer in a reply. Errors: Invalid if it does not fit the output schema.
func (r *run) finish(reply llm.Reply, c *citer) (Answer, error) {
	answer := Answer{Text: strings.TrimSpace(c.text.String()), Citations: c.citations()}
	r.usage.RemovedCitations += c.removed
	answer.Usage = r.used()
	if r.schema == nil {
		return answer, nil
	}
	raw := []byte(unfence(reply.Text))
	value, err := schema.Decode(raw)
	if err != nil {
		return answer, fault.New(fault.Invalid, "%s", err)
	}
	if err := r.schema.Validate("", value); err != nil {
		return answer, err
	}
	answer.Text, answer.Object = string(raw), raw
	return answer, nil
}

// unfence removes a code fence around JSON.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if strings.HasPrefix(text, "```") && from >= 0 && to > from {
		return text[from : to+1]
	}
	return text
}
