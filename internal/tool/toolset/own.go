package toolset

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/toolschema"
)

// maxOwnTools is above the number of tools that a tenant may have.
const maxOwnTools = 1000

// ownTools caches the tools that tenants have defined. Safe for concurrent use.
type ownTools struct {
	*byCaller[map[string]*tool]

	api     API
	builtin map[string]*tool
	runners map[string]Runner // by kind
	sources []Source
	log     *slog.Logger
}

func newOwnTools(cfg Config, builtin map[string]*tool, log *slog.Logger) *ownTools {
	return &ownTools{newByCaller[map[string]*tool](), cfg.API, builtin, cfg.Runners, cfg.Sources, log}
}

// of returns the tools of the caller's tenant by name. Errors: those of ListTools.
func (o *ownTools) of(ctx context.Context) (map[string]*tool, error) {
	if found, ok := o.get(ctx); ok {
		return found, nil
	}
	return o.load(ctx)
}

// load loads the tools from the API and caches them.
func (o *ownTools) load(ctx context.Context) (map[string]*tool, error) {
	asked := time.Now()
	res, err := o.api.ListTools(ctx, &ragdv1.ListToolsRequest{PageSize: maxOwnTools})
	if err != nil {
		return nil, err
	}
	found := map[string]*tool{}
	for _, made := range res.GetTools() {
		t, err := o.tool(made)
		if err != nil {
			return nil, fmt.Errorf("read tool %s: %w", made.GetToolName(), err)
		}
		if t != nil {
			found[made.GetToolName()] = t
		}
	}
	for _, source := range o.sources {
		if err := o.provide(ctx, source, found); err != nil {
			return nil, err
		}
	}
	o.settle(found)
	o.put(ctx, found, asked)
	return found, nil
}

// settle marks the provided tools that change nothing because the tools that they call do not. Tools
// that call each other in a circle are not marked.
func (o *ownTools) settle(found map[string]*tool) {
	harmless := func(name string) bool {
		t := cmp.Or(o.builtin[name], found[name])
		return t != nil && t.definition.ReadOnly()
	}
	for again := true; again; {
		again = false
		for _, t := range found {
			d := &t.definition
			if d.Provided && d.Calls != nil && d.Annotations.ReadOnlyHint == nil && !slices.ContainsFunc(d.Calls, func(name string) bool { return !harmless(name) }) {
				yes := true
				d.Annotations.ReadOnlyHint, again = &yes, true
			}
		}
	}
}

// provide adds the tools of a source to those that are found.
func (o *ownTools) provide(ctx context.Context, source Source, found map[string]*tool) error {
	provided, err := source.Tools(ctx)
	if err != nil {
		return err
	}
	for _, d := range provided {
		if found[d.Name] != nil || o.builtin[d.Name] != nil {
			o.log.WarnContext(ctx, "another tool has the name and takes precedence", "tool", d.Name, "kind", d.Kind)
			continue
		}
		t, err := newProvidedTool(d, source)
		if err != nil { // the others are none the worse
			o.log.WarnContext(ctx, "a tool cannot be offered", "tool", d.Name, "kind", d.Kind, "err", err)
			continue
		}
		found[d.Name] = t
	}
	return nil
}

// CheckProvided returns an error for a definition that cannot be a tool of a Source.
func CheckProvided(d Definition) error {
	_, err := newProvidedTool(d, nil)
	return err
}

// newProvidedTool returns a tool that a source runs.
func newProvidedTool(d Definition, source Source) (*tool, error) {
	d.Source, d.Provided, d.Builtin, d.Title = d.Name, true, false, cmp.Or(d.Title, d.Name)
	t := &tool{definition: d}
	_, t.defers = source.(Tasks)
	var err error
	if err = t.takeInput(); err != nil {
		return nil, err
	}
	d = t.definition
	if d.OutputSchema != nil {
		if t.output, err = toolschema.Foreign(d.OutputSchema); err != nil {
			return nil, err
		}
	}
	t.arguments, err = newGivenArguments(t.input)
	t.run = func(ctx context.Context, c Call, arguments accepted) (Result, error) {
		c.Arguments = arguments.json
		return source.Run(ctx, d, c)
	}
	return t, err
}

// tool returns a tool that runs a stored one; nil if its kind is not known here.
func (o *ownTools) tool(made *ragdv1.Tool) (*tool, error) {
	if kind := o.builtin[made.GetKind()]; kind != nil {
		return newTenantTool(made, kind)
	}
	if runner := o.runners[made.GetKind()]; runner != nil {
		return newRunnerTool(made, runner)
	}
	return nil, nil
}

// find returns a tool of the caller's tenant, or nil. A name that is not cached is looked
// up, because it may have been created through another instance.
func (o *ownTools) find(ctx context.Context, name string) (*tool, error) {
	found, err := o.of(ctx)
	if err != nil || found[name] != nil {
		return found[name], err
	}
	found, err = o.load(ctx)
	return found[name], err
}

// newRunnerTool returns a tool that a runner runs.
func newRunnerTool(made *ragdv1.Tool, runner Runner) (*tool, error) {
	t := &tool{fixed: made.GetFixed(), definition: Definition{
		Name: made.GetToolName(), Source: made.GetToolName(), Title: made.GetTitle(), Description: made.GetDescription(), Kind: made.GetKind(),
	}}
	if err := runner.Define(made, &t.definition); err != nil {
		return nil, err
	}
	err := t.present(made)
	if err != nil {
		return nil, err
	}
	if t.input, err = toolschema.Foreign(t.definition.InputSchema); err != nil {
		return nil, err
	}
	t.arguments, err = newGivenArguments(t.input)
	t.run = func(ctx context.Context, c Call, arguments accepted) (Result, error) {
		c.Arguments = arguments.json
		return runner.Run(ctx, made, c)
	}
	return t, err
}

// takeInput reads the input schema of a tool of a Source. Models are shown it without what client
// libraries cannot convert. The schemas of tools that a tenant has written are shown as they are.
func (t *tool) takeInput() (err error) {
	d := &t.definition
	if t.input, err = toolschema.Foreign(d.InputSchema); err != nil {
		return err
	}
	if bytes.Contains(d.InputSchema, []byte(`"additionalProperties"`)) {
		d.WholeInputSchema, d.WholeOutputSchema = d.InputSchema, d.OutputSchema
		d.InputSchema = t.input.Shown()
	}
	return nil
}

// present applies what a stored tool says to clients in place of its kind.
func (t *tool) present(made *ragdv1.Tool) error {
	hints := &t.definition.Annotations
	if said := made.GetAnnotations(); said != nil {
		hints.ReadOnlyHint = cmp.Or(said.ReadOnlyHint, hints.ReadOnlyHint)
		hints.DestructiveHint = cmp.Or(said.DestructiveHint, hints.DestructiveHint)
		hints.IdempotentHint = cmp.Or(said.IdempotentHint, hints.IdempotentHint)
		hints.OpenWorldHint = cmp.Or(said.OpenWorldHint, hints.OpenWorldHint)
	}
	if made.GetMeta() != nil {
		t.definition.Meta = made.GetMeta().AsMap()
	}
	if made.GetOutputSchema() == nil {
		return nil
	}
	raw, err := encode(made.GetOutputSchema())
	if err != nil {
		return err
	}
	t.definition.OutputSchema = raw
	t.output, err = toolschema.Foreign(raw)
	return err
}

// ownTool is a builtin tool with settings.
type ownTool struct {
	tool

	settings map[string]json.RawMessage
	// references are the settings that refer to values of the request, decoded.
	references map[string]any
	store      string // the name that the settings give the vector store; "" for none
}

const (
	// storeArgument is the argument that names the vector store.
	storeArgument = "vectorStoreName"
	// enableFilter is a setting that is not a field of the request.
	enableFilter = "enableFilter"
)

// newTenantTool returns a builtin tool with the settings of a stored one.
func newTenantTool(made *ragdv1.Tool, kind *tool) (*tool, error) {
	raw, err := encode(made.GetSettings())
	if err != nil {
		return nil, err
	}
	o := &ownTool{tool: tool{definition: kind.definition, fixed: made.GetFixed()}}
	o.run = func(ctx context.Context, c Call, arguments accepted) (Result, error) {
		ctx = access.WithStore(ctx, o.store)
		settings, err := o.settingsFor(ctx)
		if err != nil {
			return Result{}, err
		}
		merged, err := merge(settings, arguments.json)
		if err != nil {
			return Result{}, err
		}
		merged, err = o.checkSettings(ctx, kind, arguments, settings, merged)
		if err != nil {
			return Result{}, err
		}
		return kind.run(ctx, c, accepted{merged, arguments.vectors})
	}
	if made.GetSettings() != nil {
		if err := json.Unmarshal(raw, &o.settings); err != nil {
			return nil, err
		}
	}
	delete(o.settings, enableFilter) // the arguments follow from it
	if o.references, err = references(o.settings); err != nil {
		return nil, err
	}
	o.index, o.indexFrom = textOf(o.settings[indexArgument]), o.references[indexArgument]
	o.store = textOf(o.settings[storeArgument])
	o.filtered = o.settings["filter"] != nil || o.settings["databaseConfig"] != nil || o.settings["namespace"] != nil
	d := &o.definition
	d.Source = made.GetToolName()
	d.Name, d.Title, d.Description = made.GetToolName(), made.GetTitle(), made.GetDescription()
	d.Kind, d.Builtin = made.GetKind(), false
	o.input, o.output = o.schema(kind.input, made.GetArguments()), kind.output
	d.InputSchema, d.WholeInputSchema = o.input.Shown(), o.input.Whole()
	if err := o.present(made); err != nil {
		return nil, err
	}
	if made.GetOutputSchema() != nil {
		d.WholeOutputSchema = d.OutputSchema
	}
	o.arguments, err = newArguments(o.input)
	return &o.tool, err
}

// alternatives lists groups of arguments of which a call needs one.
var alternatives = [][]string{{"queryText", "queryVector", "like", queriesArgument}, {"text", "content"}}

// schema returns the part of the kind's input schema that a model may use, with the
// tool's settings as defaults.
func (o *ownTool) schema(kind toolschema.Schema, arguments []string) toolschema.Schema {
	var required []string
	for _, name := range arguments {
		if o.requires(name, arguments) {
			required = append(required, name)
		}
	}
	defaults := maps.Clone(o.settings)
	delete(defaults, "filter") // filters are and-ed
	for name := range o.references {
		delete(defaults, name)
	}
	return kind.Pick(arguments, required, defaults)
}

// requires reports whether a call of the tool must give the argument.
func (o *ownTool) requires(name string, arguments []string) bool {
	if name == indexArgument {
		return o.settings[name] == nil
	}
	for _, group := range alternatives {
		if !slices.Contains(group, name) {
			continue
		}
		return !slices.ContainsFunc(group, func(other string) bool {
			return o.settings[other] != nil || other != name && slices.Contains(arguments, other)
		})
	}
	return false
}

// merge returns the settings overridden by the arguments of a call. Filters are and-ed.
// Errors: Invalid for a malformed filter.
func merge(settings map[string]json.RawMessage, arguments []byte) ([]byte, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	merged := maps.Clone(settings)
	if merged == nil {
		merged = map[string]json.RawMessage{}
	}
	for _, group := range alternatives { // a given alternative replaces those in the settings
		if slices.ContainsFunc(group, func(name string) bool { return given[name] != nil }) {
			maps.DeleteFunc(merged, func(name string, _ json.RawMessage) bool { return slices.Contains(group, name) })
		}
	}
	for name, value := range given {
		if settings[name] != nil && name == "filter" {
			joined, err := joinFilters(settings[name], value)
			if err != nil {
				return nil, err
			}
			value = joined
		}
		merged[name] = value
	}
	return json.Marshal(merged)
}

func joinFilters(filters ...json.RawMessage) (json.RawMessage, error) {
	parsed := make([]filter.Filter, len(filters))
	for i, raw := range filters {
		var value any // an object, or a string that contains one
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("read a filter: %w", err)
		}
		text, isText := value.(string)
		if !isText {
			text = string(raw)
		}
		var err error
		if parsed[i], err = filter.Parse([]byte(text)); err != nil {
			return nil, err
		}
	}
	joined := filter.And(parsed...)
	if joined.IsZero() {
		return json.RawMessage(`{}`), nil
	}
	return joined.JSON(), nil
}
