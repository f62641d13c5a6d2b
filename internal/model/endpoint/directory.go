package endpoint

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Endpoint is an address at which models are served, with the clients that call it. Safe
// for concurrent use.
type Endpoint struct {
	Name    string
	Kind    Kind
	Config  Config
	mu      sync.Mutex
	clients map[lane]*Client
}

// lane is a kind of calls that do not wait for others: questions do not wait behind an
// ingest.
type lane struct {
	use   Use
	quick bool
}

// Limits for calls for which a caller waits: the time of one attempt, and the longest wait
// before the next.
const (
	quickTimeout = 10 * time.Second
	quickWait    = 2 * time.Second
)

// providerOf names the endpoint in errors, by use.
var providerOf = map[Use]string{Embed: "the embedding provider ", Chat: "the language model provider ", Rerank: "the rerank provider ", "": "the endpoint "}

// NewEndpoint returns an endpoint. An empty BaseURL means the public address of the kind.
func NewEndpoint(name string, kind Kind, config Config) *Endpoint {
	if config.BaseURL == "" {
		config.BaseURL = kind.PublicURL()
	}
	config.kind = kind
	if r := config.RequestsPerSecond; r > 0 {
		config.rate = rate.NewLimiter(rate.Limit(r), max(1, int(r)))
	}
	return &Endpoint{Name: name, Kind: kind, Config: config, clients: map[lane]*Client{}}
}

// Client returns the client for a use. Calls of one client do not wait for those of
// another.
func (e *Endpoint) Client(use Use) *Client { return e.client(lane{use: use}) }

// Quick returns the client for calls for which a caller waits: they have less time.
func (e *Endpoint) Quick(use Use) *Client { return e.client(lane{use: use, quick: true}) }

func (e *Endpoint) client(l lane) *Client {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.clients[l]; c != nil {
		return c
	}
	config := e.Config.withDefaults()
	if l.quick {
		config.Timeout = min(config.Timeout, quickTimeout)
		config.MaxWait = min(config.MaxWait, quickWait)
	}
	c := New(providerOf[l.use]+e.Name, config)
	e.clients[l] = c
	return c
}

// Target is a model at an endpoint.
type Target struct {
	*Endpoint
	Model string // its name at the endpoint
}

// OwnFunc returns the endpoint that a tenant has under a name, nil if it has none.
type OwnFunc func(ctx context.Context, tenant, name string) (*Endpoint, error)

// Directory finds endpoints by name: those of the operator, which all tenants may use, and
// each tenant's own. A tenant's own endpoint has precedence over one of the operator with
// the same name. Safe for concurrent use. The zero Directory is empty.
type Directory struct {
	operator map[string]*Endpoint
	own      OwnFunc
	allowed  AllowedFunc
}

// AllowedFunc returns an error unless a tenant may use a model, endpoint/model.
type AllowedFunc func(ctx context.Context, tenant, model string) error

// WithAllowed returns the directory, which from now on asks allowed for each model that a tenant uses, but for the
// stored embedding models of indexes.
func (d *Directory) WithAllowed(allowed AllowedFunc) *Directory {
	d.allowed = allowed
	return d
}

// NewDirectory returns a directory of the operator's endpoints. own may be nil.
func NewDirectory(own OwnFunc, operator ...*Endpoint) *Directory {
	d := &Directory{own: own, operator: map[string]*Endpoint{}}
	for _, e := range operator {
		d.operator[e.Name] = e
	}
	return d
}

// Operator returns the operator's endpoint of a name, nil if there is none.
func (d *Directory) Operator(name string) *Endpoint { return d.operator[name] }

// Operators returns the operator's endpoints in the order of their names.
func (d *Directory) Operators() []*Endpoint {
	var all []*Endpoint
	for _, name := range slices.Sorted(maps.Keys(d.operator)) {
		all = append(all, d.operator[name])
	}
	return all
}

// Query names a model for a use.
type Query struct {
	// Tenant is whose endpoints are looked at first. Empty means only the operator's.
	Tenant string
	// Field is the field of the request that names the model, for errors.
	Field string
	// Name is endpoint/model.
	Name string
	Use  Use
	// Stored says that the model was allowed when its name was stored: the endpoint's list of
	// models is not checked again.
	Stored bool
}

// Resolve returns the model of a name. Errors: Invalid for a name that is not of the form
// endpoint/model, an endpoint that does not exist or serves no models for this use, and a
// model that the endpoint does not allow; Precondition for the name of a provider that the
// operator has not configured.
func (d *Directory) Resolve(ctx context.Context, q Query) (Target, error) {
	name, model, ok := strings.Cut(q.Name, "/")
	if !ok || name == "" {
		return Target{}, fault.Field(q.Field, "must be endpoint/model, such as %s, got %q", examples[q.Use], q.Name)
	}
	e, err := d.Find(ctx, q.Tenant, name)
	if err != nil {
		return Target{}, err
	}
	if e == nil {
		return Target{}, d.missing(q, name)
	}
	if !slices.Contains(kinds[e.Kind].uses, q.Use) {
		return Target{}, fault.Field(q.Field, "the endpoint %q, of the kind %s, has no models for %s; those of %s have", name, e.Kind, purposes[q.Use], join(kindsFor(q.Use)))
	}
	if model == "" && (e.Kind != TEI || q.Use != Rerank) { // TEI serves one model, whatever its name
		return Target{}, fault.Field(q.Field, "must be endpoint/model, such as %s, got %q", examples[q.Use], q.Name)
	}
	if !q.Stored && model != "" {
		if err := e.Config.CheckModel(q.Field, model); err != nil {
			return Target{}, err
		}
	}
	if d.allowed != nil && q.Tenant != "" && !q.Stored {
		if err := d.allowed(ctx, q.Tenant, q.Name); err != nil {
			return Target{}, err
		}
	}
	return Target{e, model}, nil
}

// Find returns an endpoint by its name, nil if there is none.
func (d *Directory) Find(ctx context.Context, tenant, name string) (*Endpoint, error) {
	if tenant != "" && d.own != nil {
		if e, err := d.own(ctx, tenant, name); e != nil || err != nil {
			return e, err
		}
	}
	return d.operator[name], nil
}

// KindOf returns the kind of an endpoint, or of the provider of this name if there is no
// such endpoint, or an empty string.
func (d *Directory) KindOf(ctx context.Context, tenant, name string) (Kind, error) {
	e, err := d.Find(ctx, tenant, name)
	if e != nil {
		return e.Kind, err
	}
	return Providers[name], err
}

var (
	examples = map[Use]string{Embed: "openai/text-embedding-3-small or builtin/hash-512", Chat: "openai/gpt-5-mini", Rerank: "cohere/rerank-v3.5"}
	purposes = map[Use]string{Embed: "embeddings", Chat: "chat", Rerank: "reranking"}
)

// Providers are the names of the operator's endpoints that have settings of their own, with
// their kinds.
var Providers = map[string]Kind{
	"openai": OpenAI, "cohere": Cohere, "jina": Jina, "voyage": Voyage, "tei": TEI, "ollama": Ollama, "gemini": Gemini,
}

// missing returns the error for an endpoint that does not exist.
func (d *Directory) missing(q Query, name string) error {
	if kind, ok := Providers[name]; ok {
		if !slices.Contains(kinds[kind].uses, q.Use) {
			return fault.Field(q.Field, "the provider %s has no models for %s; endpoints of %s have", name, purposes[q.Use], join(kindsFor(q.Use)))
		}
		return fault.New(fault.Precondition, "%[1]s: the endpoint %[2]s is not configured on this server; its operator sets RAGD_%[3]s_API_KEY or RAGD_%[3]s_BASE_URL, or the tenant makes an endpoint of this name", q.Field, name, strings.ToUpper(name))
	}
	names := slices.Collect(maps.Keys(d.operator))
	if q.Use != Chat {
		names = append(names, "builtin")
	}
	slices.Sort(names)
	return fault.Field(q.Field, "there is no endpoint %q; the operator of this server provides %s, and a tenant may make its own", name, cmp.Or(strings.Join(names, ", "), "none"))
}

// kindsFor returns the kinds with models for a use.
func kindsFor(use Use) []string {
	var found []string
	for _, k := range Kinds {
		if slices.Contains(kinds[k].uses, use) {
			found = append(found, string(k))
		}
	}
	return found
}

func join(names []string) string {
	last := len(names) - 1
	return fmt.Sprintf("%s and %s", strings.Join(names[:last], ", "), names[last])
}

// Reserved are names that no endpoint can have: models under these names run in this
// process.
var Reserved = []string{"builtin", "local"}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// CheckName checks the name of an endpoint. Errors: Invalid, naming the field.
func CheckName(field, name string) error {
	if !namePattern.MatchString(name) {
		return fault.Field(field, "must be 1 to 63 lower case letters, digits and -, the first and last no -")
	}
	if slices.Contains(Reserved, name) {
		return fault.Field(field, "%q names the models that run inside the service: take another", name)
	}
	return nil
}
