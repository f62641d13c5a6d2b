// Package toolset lists and calls the tools that a caller may use: the builtin ones and
// those that its tenant has defined. MCP and RPC offer the same tools through it.
//
// A builtin tool consists of a JSON schema written for models, an API message decoded from
// its arguments, one API call, and the answer in two forms: structured content, and text
// that a model can read and cite. A tenant's tool is a builtin one with settings, or of a
// kind that a Runner runs. The tools hold no rules of their own and work with any
// implementation of API: the handlers of internal/api/rpc inside the server, or the client of
// a remote server.
package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/telemetry"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// API is the part of the RPC API that the tools call. Its errors are faults, or
// *connect.Error from a client.
type API interface {
	VectorQuery(context.Context, *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error)
	BatchQuery(context.Context, *ragdv1.BatchQueryRequest) (*ragdv1.BatchQueryResponse, error)
	CountChunks(context.Context, *ragdv1.CountChunksRequest) (*ragdv1.CountChunksResponse, error)
	GraphRag(context.Context, *ragdv1.GraphRagRequest) (*ragdv1.GraphRagResponse, error)
	// ResearchEvents is Research with the events before the result, for which the function may be nil.
	ResearchEvents(context.Context, *ragdv1.ResearchRequest, func(*ragdv1.ResearchEvent) error) (*ragdv1.ResearchResponse, error)
	ListTopics(context.Context, *ragdv1.ListTopicsRequest) (*ragdv1.ListTopicsResponse, error)
	ListTables(context.Context, *ragdv1.ListTablesRequest) (*ragdv1.ListTablesResponse, error)
	QueryTable(context.Context, *ragdv1.QueryTableRequest) (*ragdv1.QueryTableResponse, error)
	Rerank(context.Context, *ragdv1.RerankRequest) (*ragdv1.RerankResponse, error)

	ListIndexes(context.Context, *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error)
	DescribeIndex(context.Context, *ragdv1.DescribeIndexRequest) (*ragdv1.Index, error)

	UploadDocument(context.Context, *ragdv1.UploadDocumentRequest) (*ragdv1.UploadDocumentResponse, error)
	GetDocument(context.Context, *ragdv1.GetDocumentRequest) (*ragdv1.Document, error)
	ListDocuments(context.Context, *ragdv1.ListDocumentsRequest) (*ragdv1.ListDocumentsResponse, error)
	DeleteDocument(context.Context, *ragdv1.DeleteDocumentRequest) (*ragdv1.DeleteDocumentResponse, error)
	DeleteDocuments(context.Context, *ragdv1.DeleteDocumentsRequest) (*ragdv1.DeleteDocumentsResponse, error)
	SyncSource(context.Context, *ragdv1.SyncSourceRequest) (*ragdv1.SyncSourceResponse, error)
	ReadDocument(context.Context, *ragdv1.ReadDocumentRequest) (*ragdv1.ReadDocumentResponse, error)
	RenderPage(context.Context, *ragdv1.RenderPageRequest) (*ragdv1.RenderPageResponse, error)
	ListChunks(context.Context, *ragdv1.ListChunksRequest) (*ragdv1.ListChunksResponse, error)
	GetJob(context.Context, *ragdv1.GetJobRequest) (*ragdv1.Job, error)
	CancelJob(context.Context, *ragdv1.CancelJobRequest) (*ragdv1.Job, error)

	ChunkText(context.Context, *ragdv1.ChunkTextRequest) (*ragdv1.ChunkTextResponse, error)
	RecordFeedback(context.Context, *ragdv1.RecordFeedbackRequest) (*ragdv1.RecordFeedbackResponse, error)

	Remember(context.Context, *ragdv1.RememberRequest) (*ragdv1.Memory, error)
	Recall(context.Context, *ragdv1.RecallRequest) (*ragdv1.RecallResponse, error)
	Forget(context.Context, *ragdv1.ForgetRequest) (*ragdv1.ForgetResponse, error)

	CreateAlert(context.Context, *ragdv1.CreateAlertRequest) (*ragdv1.Alert, error)
	PreviewAlert(context.Context, *ragdv1.PreviewAlertRequest) (*ragdv1.PreviewAlertResponse, error)
	ListAlerts(context.Context, *ragdv1.ListAlertsRequest) (*ragdv1.ListAlertsResponse, error)
	ListAlertMatches(context.Context, *ragdv1.ListAlertMatchesRequest) (*ragdv1.ListAlertMatchesResponse, error)
	UpdateAlert(context.Context, *ragdv1.UpdateAlertRequest) (*ragdv1.Alert, error)
	DeleteAlert(context.Context, *ragdv1.DeleteAlertRequest) (*ragdv1.DeleteAlertResponse, error)

	ListTools(context.Context, *ragdv1.ListToolsRequest) (*ragdv1.ListToolsResponse, error)
}

// Config configures a Set. API is required.
type Config struct {
	API API
	// CallTimeout ends a call. Default: 60s.
	CallTimeout time.Duration
	Logger      *slog.Logger
	// Observer hears of calls; nil for none.
	Observer Observer
	// Runners run the tools of further kinds, by the name of the kind.
	Runners map[string]Runner
	// Sources have further tools.
	Sources []Source
	// Deferrer keeps calls that take long as tasks; nil for none.
	Deferrer Deferrer
	// Policies decide about calls; nil for none.
	Policies Policies
}

// Definition describes a tool to a client.
type Definition struct {
	Name        string
	Source      string // the name outside of views
	Title       string // for people
	Description string // for models
	// Kind is that of a tenant's tool, or the name of a builtin tool.
	Kind    string
	Builtin bool
	// Host is the name of the host that a tool calls, with its port if it has one; empty for none.
	Host string `json:"-"`
	// Provided is true for a tool of a Source.
	Provided bool
	// Calls are the names of the tools that a tool of a Source calls. If they are given and
	// Annotations.ReadOnlyHint is not, the tool changes nothing if none of them does.
	Calls []string `json:"-"`
	// Timeout ends a call of a tool of a Source, or of one with NeedsTask. 0 means that of the Set.
	Timeout time.Duration `json:"-"`
	// NeedsTask says that calls take so long that clients of MCP have to take tasks.
	NeedsTask    bool `json:"-"`
	Annotations  Annotations
	Meta         map[string]any
	InputSchema  json.RawMessage // JSON Schema of an object, for models
	OutputSchema json.RawMessage // JSON Schema of the structured content; nil if it is not described
	// WholeInputSchema and WholeOutputSchema have also what only programs use. They are nil
	// where that is all the same.
	WholeInputSchema  json.RawMessage `json:"-"`
	WholeOutputSchema json.RawMessage `json:"-"`
}

// Annotations tell clients how a tool behaves. Nil means unknown.
type Annotations struct {
	ReadOnlyHint    *bool `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool `json:"openWorldHint,omitempty"`
}

// Writes reports whether the tool changes what others of the tenant see. Such a tool needs the
// scope write.
func (d Definition) Writes() bool {
	return d.Builtin && !d.ofMemory() && d.Annotations.ReadOnlyHint != nil && !*d.Annotations.ReadOnlyHint
}

// ReadOnly reports whether the tool is known to change nothing.
func (d Definition) ReadOnly() bool {
	return d.Annotations.ReadOnlyHint != nil && *d.Annotations.ReadOnlyHint
}

// Call is one call of a tool.
type Call struct {
	// Name is the tool's name in the view.
	Name string
	// Arguments are a JSON object, or nil for none.
	Arguments json.RawMessage
	// Context holds overrides of the request context, a JSON object; nil for none.
	Context json.RawMessage
	// Answers are the user's answers to a Question, an object of arguments; nil for none. An
	// argument in Arguments takes precedence.
	Answers json.RawMessage
	// CanAsk says that the caller can ask its user a Question.
	CanAsk bool
	// TakesTask says that the caller takes a Task instead of a result.
	TakesTask bool
	// Patient says that the call may take MaxTaskTime.
	Patient bool
	// Outcome returns what the caller of a task is told of its end, and whether that is an error of the protocol; nil
	// without TakesTask.
	Outcome func(Result, error) (outcome json.RawMessage, failed bool)
	// CheckAsked returns an error if the caller's client cannot be asked that; nil without TakesTask.
	CheckAsked func(*Asked) error
	// Client is what the caller's client has said and can do; nil if it cannot be asked anything.
	Client *Client
	// Elicit asks the user of the caller's client something while the call is under way: the parameters
	// of elicitation/create in the JSON of MCP, and its result. nil if that is not possible.
	Elicit func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
	// Form is the form of the result that is read; the other may be as long as it likes.
	Form ResultForm
	// Progress is called as the call proceeds, with growing values of Done; nil if progress
	// is not wanted.
	Progress func(context.Context, Progress)
	// Log is called with log messages of the tool; nil if they are not wanted.
	Log func(context.Context, LogMessage)
}

// Progress is how far a call has come.
type Progress struct {
	Done    float64
	Total   float64 // 0 if it is not known
	Message string
}

// Result is the answer of a tool.
type Result struct {
	// Structured is valid JSON of an object that fits the output schema.
	Structured json.RawMessage
	// Text is the answer for a model.
	Text string
	// Content replaces Text if it is not nil: content blocks in the JSON of MCP.
	Content json.RawMessage
	// Meta is additional information for the client; nil for none.
	Meta map[string]any
	// Question replaces everything else if it is not nil: the call needs an answer of the
	// user, and is repeated with it.
	Question *Question
	// Asked replaces everything else if it is not nil: the call needs answers of the client, and
	// is repeated with them.
	Asked *Asked
	// Task replaces everything else if it is not nil: the call goes on. Only with Call.TakesTask.
	Task *Task
	// Origin is the call of which the result is, if that is another one; nil for this one.
	Origin *Origin
}

// Question asks the user for arguments of a call.
type Question struct {
	Message string
	// Schema is the JSON Schema of a flat object, whose properties are arguments.
	Schema map[string]any
}

// Runner runs the tools of a kind that is not builtin.
type Runner interface {
	// Define completes the definition of a tool: its schemas and annotations. An error hides
	// all tools of the tenant: a tool whose settings are no longer valid is defined, and its
	// calls fail.
	Define(t *ragdv1.Tool, d *Definition) error
	// Run runs a call, whose arguments fit the input schema. Errors are shown to the caller
	// as fault.Public does.
	Run(ctx context.Context, t *ragdv1.Tool, c Call) (Result, error)
}

// Source has tools that run something else that a tenant has defined, such as its workflows. A
// stored tool of the same name takes precedence.
type Source interface {
	// Tools returns the definitions of the caller's tools. They need a Name, a Description and an
	// InputSchema. They are cached until ForgetTools is called.
	Tools(ctx context.Context) ([]Definition, error)
	// Run runs a call of one of them, whose arguments fit the input schema. It may return a Question;
	// its answers are in the repeated call. Errors are shown to the caller as fault.Public does.
	Run(ctx context.Context, d Definition, c Call) (Result, error)
}

// Phase is a step of a call that an Observer hears of.
type Phase string

// The phases: input once the arguments are valid, then output or error.
const (
	Input  Phase = "input"
	Output Phase = "output"
	Failed Phase = "error"
)

// Event is what an Observer hears of.
type Event struct {
	Phase     Phase
	CallID    string // the same for all events of a call
	Tool      Definition
	Index     string // that the call is over, if its arguments or the tool name one
	Arguments json.RawMessage
	Result    Result        // of Output
	Err       error         // of Failed
	Took      time.Duration // of Output and Failed
}

// Observer hears of calls of all tenants.
type Observer interface {
	// Wants reports whether the observer hears of a call of this caller. It must not block.
	Wants(ctx context.Context) bool
	// Observe must not block, nor keep the context.
	Observe(ctx context.Context, e Event)
}

// Set is the set of tools over one API. Safe for concurrent use.
type Set struct {
	builtin  map[string]*tool
	own      *ownTools
	indexes  *indexNames
	api      API
	waits    *limit.Limiter[tenant.ID] // limits calls that wait for a job
	observer Observer
	deferrer Deferrer
	policies Policies
	timeout  time.Duration
	log      *slog.Logger
}

// New returns a Set.
func New(cfg Config) (*Set, error) {
	s := &Set{
		builtin: map[string]*tool{}, api: cfg.API, indexes: newIndexNames(cfg.API), waits: newWaits(),
		observer: cfg.Observer, deferrer: cfg.Deferrer, policies: cfg.Policies,
		timeout: cmp.Or(cfg.CallTimeout, 60*time.Second), log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
	}
	read, err := builtins()
	if err != nil {
		return nil, err
	}
	for name, run := range s.runs() {
		t, ok := read[name]
		if !ok {
			return nil, fmt.Errorf("tool %s has no definition", name)
		}
		t.run = run.run
		s.builtin[name] = &t
	}
	fetch := s.builtin["fetch"]
	fetch.run = s.orPage(fetch.run)
	s.own = newOwnTools(cfg, s.builtin, s.log)
	return s, nil
}

// List returns the tools of the view that the caller may use, in the order of their names. If
// the tenant's own tools cannot be loaded, they are missing. Those about memories are in it only for
// bounds that name tools.
func (s *Set) List(ctx context.Context, v View) []Definition {
	return slices.DeleteFunc(s.All(ctx, v), func(d Definition) bool { return !d.listed(access.BoundsOf(ctx)) })
}

// All is List with the tools about memories.
func (s *Set) All(ctx context.Context, v View) []Definition {
	tools := slices.SortedFunc(maps.Values(s.visible(ctx, v)), func(a, b *tool) int {
		return strings.Compare(a.definition.Name, b.definition.Name)
	})
	shown := make([]Definition, len(tools))
	names := s.indexes.of(ctx)
	for i, t := range tools {
		shown[i] = t.definition
		if len(names) > 0 {
			shown[i].InputSchema = nameIndexes(shown[i].InputSchema, names)
		}
	}
	s.addFields(ctx, tools, shown, names)
	return shown
}

// visible returns the tools of the view that the caller may use, by their names in it.
func (s *Set) visible(ctx context.Context, v View) map[string]*tool {
	own, err := s.own.of(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "the tenant's own tools are not listed", "err", err)
	}
	shown := map[string]*tool{}
	for _, tools := range []map[string]*tool{own, s.builtin} { // a builtin tool hides an older one of the tenant
		for _, t := range tools {
			if t, ok := v.show(t); ok && s.allowed(ctx, t) {
				shown[t.definition.Name] = t
			}
		}
	}
	return shown
}

// allowed reports whether the credential may use the tool. It only helps the model; the
// services check the rights.
func (s *Set) allowed(ctx context.Context, t *tool) bool {
	r, ok := access.FromContext(ctx)
	if ok && !r.Bounds.MayUseTool(t.definition.Source) {
		return false
	}
	return !t.definition.Writes() || !ok || r.Principal.Has(access.Write)
}

// Find returns the definition of a tool by its name in the view. Errors: NotFound for one that
// does not exist or that the caller may not use, without telling which; those of ListTools.
func (s *Set) Find(ctx context.Context, v View, name string) (Definition, error) {
	t, err := s.find(ctx, v, name)
	if err != nil {
		return Definition{}, err
	}
	return t.definition, nil
}

func (s *Set) find(ctx context.Context, v View, name string) (*tool, error) {
	source := v.source(name)
	t := s.builtin[source]
	if t == nil {
		var err error
		if t, err = s.own.find(ctx, source); err != nil {
			return nil, err
		}
	}
	if t != nil {
		if shown, ok := v.show(t); ok && shown.definition.Name == name && s.allowed(ctx, shown) {
			return shown, nil
		}
	}
	return nil, fault.New(fault.NotFound, "tool %q not found%s", name, s.Hint(ctx, v, name))
}

// Hint returns "; did you mean NAME?" for the tool of the view whose name is nearest to name,
// or nothing.
func (s *Set) Hint(ctx context.Context, v View, name string) string {
	var names []string
	for known := range s.visible(ctx, v) {
		names = append(names, known)
	}
	return nearest.Hint(name, names)
}

// Call runs a call of a tool. A panic becomes an internal error. Errors: NotFound as of Find;
// Invalid for arguments that do not fit; those of the tool.
func (s *Set) Call(ctx context.Context, v View, c Call) (result Result, err error) {
	t, err := s.find(ctx, v, c.Name)
	if err != nil {
		return Result{}, err
	}
	if c.TakesTask && s.deferrer != nil && !t.defers {
		return s.deferrer.Defer(ctx, c, func(ctx context.Context, c Call) (Result, error) { return s.within(ctx, t, c) })
	}
	return s.within(ctx, t, c)
}

// within runs a call within its time.
func (s *Set) within(ctx context.Context, t *tool, c Call) (result Result, err error) {
	timeout := cmp.Or(t.definition.Timeout, s.timeout)
	if c.Patient {
		timeout = MaxTaskTime
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer func(start time.Time) { telemetry.Tool(ctx, cmp.Or(t.definition.Kind, "provided"), err, start) }(time.Now())
	if result, err = s.call(ctx, t, c); err == nil && result.Asked != nil && c.Client == nil {
		if addresses := result.Asked.Addresses(); len(addresses) > 0 {
			return Result{}, ErrOpen(c.Name, addresses)
		}
		return Result{}, fault.New(fault.Precondition, "tool %q asks its client for input, which only clients of MCP can give", c.Name)
	}
	if err != nil {
		if question := s.question(ctx, t, c, err); question != nil {
			return Result{Question: question}, nil
		}
	}
	return result, err
}

// call runs a call of one tool.
func (s *Set) call(ctx context.Context, t *tool, c Call) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if ctx, err = withContext(ctx, c.Context, t.fixed); err != nil {
		return Result{}, err
	}
	if err := keepsIndex(ctx, t); err != nil {
		return Result{}, err
	}
	if ctx, err = deeper(ctx); err != nil {
		return Result{}, err
	}
	ctx = withUser(withStages(withProgress(ctx, c)), c)
	given := c
	if t.definition.Provided {
		given.Answers = nil // they are no arguments
	}
	arguments, err := t.arguments.accept(given)
	if err != nil {
		return Result{}, err
	}
	return s.run(ctx, t, c, arguments)
}

// Needs returns the scope that a call needs of a tool by its name in the view; Read for one that
// the caller may not use or that does not exist, so that the answer does not tell.
func (s *Set) Needs(ctx context.Context, v View, name string) access.Scope {
	t := s.builtin[v.source(name)]
	if t == nil || !t.definition.Writes() {
		return access.Read
	}
	shown, ok := v.show(t)
	if r, found := access.FromContext(ctx); !ok || shown.definition.Name != name || found && !r.Bounds.MayUseTool(t.definition.Source) {
		return access.Read
	}
	return access.Write
}

// IndexNames returns the names of all indexes that the caller may see, or nil if there are
// more than 100 or they cannot be loaded.
func (s *Set) IndexNames(ctx context.Context) []string { return s.indexes.of(ctx) }

// ForgetIndexes drops the cached names of a tenant's indexes, or of all tenants for "".
func (s *Set) ForgetIndexes(id tenant.ID) { s.indexes.forget(id) }

// ForgetTools drops the cached tools of a tenant, or of all tenants for "".
func (s *Set) ForgetTools(id tenant.ID) { s.own.forget(id) }
