package prompt

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// Source has further prompts, such as those of other servers. A stored prompt of the same name takes
// precedence.
type Source interface {
	// Prompts returns the prompts of the caller's tenant, in one version each, without their messages.
	Prompts(ctx context.Context) ([]Prompt, error)
	// Messages returns the messages of one of them with the arguments filled in.
	Messages(ctx context.Context, name string, arguments map[string]string) ([]Message, error)
}

// Reserved reports whether a name is that of a prompt of the service itself. Case does not matter.
func Reserved(name string) bool {
	lower := strings.ToLower(name)
	return slices.Contains(builtin, lower) || strings.HasPrefix(lower, "ragd")
}

// Service stores the prompts of the calling tenant. Safe for concurrent use.
type Service struct {
	// Source has further prompts; nil for none.
	Source Source

	db *data.DB
}

// New returns a Service.
func New(db *data.DB) *Service { return &Service{db: db} }

// Create stores a new prompt as its version 1. Errors: Invalid; Exists; Exhausted when the tenant
// has too many prompts; Denied for a credential with a mandatory filter or bounds, or without the
// scope write.
func (s *Service) Create(ctx context.Context, wanted Prompt) (Prompt, error) {
	r, err := access.RequireUnfiltered(ctx, access.Write)
	if err != nil {
		return Prompt{}, err
	}
	if err := wanted.complete(); err != nil {
		return Prompt{}, err
	}
	return insert(ctx, s.db.Handle(r.Tenant), wanted)
}

// Get returns a version of a prompt, given by its number or name; the latest for "". Errors:
// NotFound, also for a version that does not exist and for a prompt that the caller may not use.
func (s *Service) Get(ctx context.Context, name, version string) (Prompt, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return Prompt{}, err
	}
	found, err := s.get(ctx, s.db.Handle(r.Tenant), r, name, version)
	if fault.KindOf(err) != fault.NotFound {
		return found, err
	}
	if lent, ok, lentErr := s.lent(ctx, r, name, version); ok || lentErr != nil {
		return lent, lentErr
	}
	return found, err
}

// lent returns a prompt of the Source. ok is false if it has none of that name and version that the caller
// may use.
func (s *Service) lent(ctx context.Context, r *access.Request, name, version string) (p Prompt, ok bool, err error) {
	if s.Source == nil || !r.Bounds.MayUsePrompt(name) || version != "" && version != latest && version != "1" {
		return Prompt{}, false, nil
	}
	all, err := s.Source.Prompts(ctx)
	i := slices.IndexFunc(all, func(p Prompt) bool { return p.Name == name })
	if err != nil || i < 0 {
		return Prompt{}, false, err
	}
	return all[i], true, nil
}

func (s *Service) get(ctx context.Context, q data.Queryer, r *access.Request, name, version string) (Prompt, error) {
	var found []Prompt
	if r.Bounds.MayUsePrompt(name) {
		var err error
		if found, err = versions(ctx, q, name); err != nil {
			return Prompt{}, err
		}
	}
	if len(found) == 0 {
		return Prompt{}, s.notFound(ctx, q, r, name)
	}
	numbers := make([]int, len(found))
	for i, p := range found {
		numbers[i] = p.Version
	}
	for _, p := range found {
		if version == "" || version == latest || version == p.VersionName || version == strconv.Itoa(p.Version) {
			p.Versions = numbers
			return p, nil
		}
	}
	return Prompt{}, fault.New(fault.NotFound, "prompt %q has no version %q; the latest is %d", name, version, found[0].Version)
}

// notFound returns the error for a prompt that does not exist or that the caller may not use. It
// names the nearest one that the caller may use.
func (s *Service) notFound(ctx context.Context, q data.Queryer, r *access.Request, name string) error {
	var names []string
	if all, err := usable(ctx, q, r, "", maxPrompts); err == nil {
		for _, p := range all {
			names = append(names, p.Name)
		}
	}
	return prompts.NotFoundAmong(name, names)
}

// usable returns the latest versions of prompts after a name that the caller may use.
func usable(ctx context.Context, q data.Queryer, r *access.Request, after string, most int) ([]Prompt, error) {
	rows, err := prompts.List(ctx, q, after, maxPrompts) // all that follow: a tenant has no more
	var found []Prompt
	for _, p := range promptsOf(rows) {
		if r.Bounds.MayUsePrompt(p.Name) && len(found) < most {
			found = append(found, p)
		}
	}
	return found, err
}

// List returns a page of the latest versions of the prompts that the caller may use, in the order
// of their names.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Prompt, string, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	return catalog.Page(ctx, prompts.Plural, pageSize, pageToken, func(p Prompt) string { return p.Name }, func(after string, most int) ([]Prompt, error) {
		return s.listed(ctx, r, after, most)
	})
}

// listed returns prompts after a name that the caller may use, those of the Source too.
func (s *Service) listed(ctx context.Context, r *access.Request, after string, most int) ([]Prompt, error) {
	found, err := usable(ctx, s.db.Handle(r.Tenant), r, after, maxPrompts)
	if err != nil {
		return nil, err
	}
	if s.Source != nil {
		lent, err := s.Source.Prompts(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range lent {
			stored := slices.ContainsFunc(found, func(other Prompt) bool { return other.Name == p.Name })
			if p.Name > after && !stored && r.Bounds.MayUsePrompt(p.Name) {
				p.Versions = nil
				found = append(found, p)
			}
		}
	}
	slices.SortFunc(found, func(a, b Prompt) int { return strings.Compare(a.Name, b.Name) })
	return found[:min(len(found), most)], nil
}

// Update changes the latest version of a prompt: change gets a copy of its definition. A changed
// definition becomes the next version. A versionName that is not nil becomes the name of the
// latest version, and is taken from another one. Errors: NotFound; Invalid; Exhausted when the
// prompt has too many versions; Conflict when another call changed it at the same time.
func (s *Service) Update(ctx context.Context, name, etag string, change func(*Definition), versionName *string) (Prompt, error) {
	r, err := access.RequireUnfiltered(ctx, access.Write)
	if err != nil {
		return Prompt{}, err
	}
	h := s.db.Handle(r.Tenant)
	old, err := s.get(ctx, h, r, name, "")
	if err != nil {
		return Prompt{}, err
	}
	if err := catalog.Expect(prompts.Noun, name, etag, old.ETag()); err != nil {
		return Prompt{}, err
	}
	changed := old
	changed.VersionName = ""
	change(&changed.Definition)
	if versionName != nil {
		changed.VersionName = *versionName
	}
	if err := changed.complete(); err != nil {
		return Prompt{}, err
	}
	switch {
	case !reflect.DeepEqual(changed.Definition, old.Definition):
		return insertVersion(ctx, h, changed)
	case versionName != nil && *versionName != old.VersionName:
		return nameVersion(ctx, h, changed)
	}
	return old, nil
}

// Delete removes a prompt with all its versions, or the version that is given by its number or
// name. Errors: NotFound; Precondition for the latest of several versions.
func (s *Service) Delete(ctx context.Context, name, version string) error {
	r, err := access.RequireUnfiltered(ctx, access.Write)
	if err != nil {
		return err
	}
	h := s.db.Handle(r.Tenant)
	found, err := s.get(ctx, h, r, name, version)
	switch {
	case err != nil:
		return err
	case version == "":
		return remove(ctx, h, name, 0)
	case found.Version == found.Versions[0]:
		return fault.New(fault.Precondition, "version %d of prompt %q is the latest: delete the prompt, or update it first", found.Version, name)
	}
	return remove(ctx, h, name, found.Version)
}

// Messages returns a version of a prompt, as Get does, with the arguments filled in. Errors: those
// of Get; Invalid for arguments that are missing, unknown or too long.
func (s *Service) Messages(ctx context.Context, name, version string, arguments map[string]string) (Prompt, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return Prompt{}, err
	}
	found, err := s.get(ctx, s.db.Handle(r.Tenant), r, name, version)
	if fault.KindOf(err) == fault.NotFound {
		lent, ok, lentErr := s.lent(ctx, r, name, version)
		if ok && lentErr == nil {
			lent.Messages, lentErr = s.Source.Messages(ctx, name, arguments)
		}
		if ok || lentErr != nil {
			return lent, lentErr
		}
	}
	if err != nil {
		return Prompt{}, err
	}
	found.Messages, err = found.render(arguments, template.ShownValues(ctx))
	return found, err
}
