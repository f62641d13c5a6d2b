package server

import (
	"context"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Service stores the servers of the calling tenant. Safe for concurrent use.
type Service struct {
	db    *data.DB
	known *cache.Cache[key, *Server] // nil for a name that does not exist
}

type key struct {
	tenant tenant.ID
	name   string
}

const (
	// cacheTTL is how long a definition is used on an instance that misses the event of its
	// change.
	cacheTTL   = 5 * time.Second
	cacheBytes = 32 << 20
)

// New returns a Service.
func New(db *data.DB) *Service {
	return &Service{db, cache.New(cache.Config[key, *Server]{Bytes: cacheBytes, Weigh: weigh, TTL: cacheTTL})}
}

// weigh returns an upper bound of the memory that a definition takes, in bytes.
func weigh(k key, s *Server) int {
	size := len(k.tenant) + len(k.name)
	if s == nil {
		return size
	}
	size += 1<<10 + len(s.Title) + len(s.Description) + len(s.Instructions) + 2*maxContextBytes
	for _, i := range s.Icons {
		size += len(i.Source)
	}
	for _, names := range [][]string{s.Tools, s.Prompts, s.Indexes} {
		size += 100 * len(names)
	}
	for _, p := range s.Presented {
		size += 200 + len(p.Description)
	}
	return size
}

// Create stores a new server. Errors: Invalid; Exists; Exhausted when the tenant has too many
// servers; Denied for a credential with a mandatory filter or without the scope write.
func (s *Service) Create(ctx context.Context, wanted Server) (*Server, error) {
	r, h, err := s.whole(ctx)
	if err != nil {
		return nil, err
	}
	if err := wanted.complete(); err != nil {
		return nil, err
	}
	if err := wanted.checkDeclared(r, Definition{}); err != nil {
		return nil, err
	}
	defer s.Forget(h.Tenant(), wanted.Name)
	return insert(ctx, h, &wanted)
}

// whole returns the request and a handle of the caller's tenant. Errors: Denied unless the caller
// may change what the whole tenant sees.
func (s *Service) whole(ctx context.Context) (*access.Request, *data.Handle, error) {
	r, err := access.RequireUnfiltered(ctx, access.Write)
	if err != nil {
		return nil, nil, err
	}
	return r, s.db.Handle(r.Tenant), nil
}

// Get returns a server, without what the caller may not use. Errors: NotFound, also for one that
// the caller may not use.
func (s *Service) Get(ctx context.Context, name string) (*Server, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	h := s.db.Handle(r.Tenant)
	if r.Bounds.MayUseServer(name) {
		if found, err := get(ctx, h, name); found != nil || err != nil {
			return found.within(r.Bounds), err
		}
	}
	return nil, notFound(ctx, h, r, name)
}

// List returns a page of the servers that the caller may use, in the order of their names.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]*Server, string, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	return catalog.Page(ctx, servers.Plural, pageSize, pageToken, func(s *Server) string { return s.Name }, func(after string, most int) ([]*Server, error) {
		return usable(ctx, s.db.Handle(r.Tenant), r, after, most)
	})
}

// usable returns the servers after a name that the caller may use.
func usable(ctx context.Context, q data.Queryer, r *access.Request, after string, most int) ([]*Server, error) {
	rows, err := servers.List(ctx, q, after, maxServers) // all that follow: a tenant has no more
	var found []*Server
	for _, row := range rows {
		if s := row.server(); r.Bounds.MayUseServer(s.Name) && len(found) < most {
			found = append(found, s.within(r.Bounds))
		}
	}
	return found, err
}

// within returns the server without names that the bounds do not allow. A request context may
// name anything, so with bounds it is left out. It returns nil for a nil Server.
func (s *Server) within(bounds access.Bounds) *Server {
	if s == nil || bounds.IsZero() {
		return s
	}
	seen := *s
	shown := bounds.Intersect(s.Bounds())
	seen.Tools, seen.Prompts, seen.Indexes = shown.Tools, shown.Prompts, shown.Indexes
	seen.Presented = slices.DeleteFunc(slices.Clone(s.Presented), func(p Presentation) bool { return !bounds.MayUseTool(p.Tool) })
	seen.DefaultContext, seen.FixedContext = nil, nil
	return &seen
}

// Update changes a server: change gets a copy of its definition. Errors: NotFound; Invalid;
// Conflict when another call changed it at the same time.
func (s *Service) Update(ctx context.Context, name string, change func(*Definition)) (*Server, error) {
	r, h, err := s.whole(ctx)
	if err != nil {
		return nil, err
	}
	old, err := s.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	changed := *old
	change(&changed.Definition)
	if err := changed.complete(); err != nil {
		return nil, err
	}
	if err := changed.checkDeclared(r, old.Definition); err != nil {
		return nil, err
	}
	defer s.Forget(h.Tenant(), name)
	return update(ctx, h, &changed, old.UpdatedAt)
}

// Delete removes a server. Errors: NotFound.
func (s *Service) Delete(ctx context.Context, name string) error {
	_, h, err := s.whole(ctx)
	if err != nil {
		return err
	}
	if _, err := s.Get(ctx, name); err != nil {
		return err
	}
	defer s.Forget(h.Tenant(), name)
	return servers.Delete(ctx, h, name)
}

// notFound returns the error for a server that does not exist or that the caller may not use.
// It names the nearest one that the caller may use.
func notFound(ctx context.Context, q data.Queryer, r *access.Request, name string) error {
	var names []string
	if all, err := usable(ctx, q, r, "", maxServers); err == nil {
		for _, s := range all {
			names = append(names, s.Name)
		}
	}
	return servers.NotFoundAmong(name, names)
}

// Forget drops the cached definition of a server, all of a tenant's if name is "", or all of them if id
// is "". It must be called on every instance when a definition has changed.
func (s *Service) Forget(id tenant.ID, name string) {
	switch {
	case id == "":
		s.known.Clear()
	case name == "":
		s.known.RemoveWhere(func(k key) bool { return k.tenant == id })
	default:
		s.known.Remove(key{id, name})
	}
}

// Enter returns a context in which the request comes through a server of the caller's tenant:
// with the server's name and request context, and bounds that are within those of the
// credential and what the server shows. The name "" means Default. The Server has no
// definition if that of Default does not exist; it must not be changed. Errors: NotFound for
// one that does not exist or that the caller may not use, without telling which.
func (s *Service) Enter(ctx context.Context, name string) (context.Context, *Server, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return ctx, nil, err
	}
	if name == "" {
		name = Default
	}
	entered, err := s.use(ctx, r, name)
	if err != nil {
		return ctx, nil, err
	}
	return NewContext(access.NewContext(ctx, entered.through(r)), entered), entered, nil
}

// use returns a server that the caller may use.
func (s *Service) use(ctx context.Context, r *access.Request, name string) (*Server, error) {
	unknown := fault.New(fault.NotFound, "server not found: %q does not exist, or this credential may not use it", name)
	if !IsName(name) || !r.Bounds.MayUseServer(name) {
		return nil, unknown
	}
	k := key{r.Tenant, name}
	found, ok := s.known.Get(k)
	// A name that is not cached is looked up: it may have been created on another instance.
	if !ok || found == nil && name != Default {
		asked := time.Now()
		var err error
		if found, err = get(ctx, s.db.Handle(r.Tenant), name); err != nil {
			return nil, err
		}
		if err = found.parse(); err != nil {
			return nil, err
		}
		s.known.PutLoaded(k, found, asked)
	}
	switch {
	case found != nil:
		return found, nil
	case name == Default:
		return &Server{Name: Default}, nil
	}
	return nil, unknown
}

// parse sets the parsed forms of the request context. It does nothing for a nil Server.
func (s *Server) parse() (err error) {
	if s == nil {
		return nil
	}
	if s.defaults, err = parseContext("defaultContext", s.DefaultContext); err != nil {
		return err
	}
	s.fixed, err = parseContext("fixedContext", s.FixedContext)
	s.defaults, s.fixed = s.defaults.From(access.OriginServer), s.fixed.From(access.OriginServer)
	return err
}

// through returns the request as it is on the server.
func (s *Server) through(r *access.Request) *access.Request {
	entered := *r
	entered.Server = s.Name
	entered.Bounds = r.Bounds.Intersect(s.Bounds())
	// A filter that is fixed holds for all that the request reads, not for queries alone.
	entered.Fixed = s.fixed
	entered.Fixed.Filter = filter.Filter{}
	entered.Overrides = entered.Fixed.Or(r.Overrides.Or(s.defaults))
	entered.Principal.MandatoryFilter = filter.And(r.Principal.MandatoryFilter, entered.Mandatory(s.fixed.Filter))
	return &entered
}
