package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// Import says how to import an archive.
type Import struct {
	// Tenant is the name of the imported tenant. Empty for that in the archive.
	Tenant string
	// Database is the database in which the tenant lives from then on. Empty for the one that a new tenant gets, and to resume.
	Database string
	// WithoutKeys leaves out API keys and issuers, also under the name in the archive.
	WithoutKeys bool
	// Resume goes on with the import of Tenant, which is required then. The archive that is given begins
	// with the frame after the last that was stored, without a preamble.
	Resume bool
}

// Progress is how far an import is that has not ended.
type Progress struct {
	Tenant    tenant.ID
	From      tenant.ID // the name in the archive
	Frames    int64     // that are stored
	Rows      int64     // in these
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Result is what an import made.
type Result struct {
	Tenant provision.Tenant
	From   tenant.ID        // the name in the archive
	Rows   map[string]int64 // stored, by table
	// LeftOut are rows of the archive that were not stored, by table: keys and usage under another
	// name, keys that were not wanted, and keys whose ids the service has already.
	LeftOut map[string]int64
	// LostSecrets are the names of secrets, such as secrets/crm, that no master key of the service opens.
	LostSecrets []string
}

// progress is the state of an import, which is stored with the rows.
type progress struct {
	Header      Header             `json:"header"`
	WithoutKeys bool               `json:"withoutKeys"`
	Order       int                `json:"order"` // of the present section in tables; -1 before the first
	Section     section            `json:"section"`
	Rows        map[string]int64   `json:"rows"` // read, by section
	LeftOut     map[string]int64   `json:"leftOut"`
	LastID      int64              `json:"lastId"` // of indexes
	Imported    provision.Imported `json:"imported"`
	Completed   []int64            `json:"completed"` // indexes with their Postgres indexes
}

func (p progress) clone() progress {
	p.Rows, p.LeftOut, p.Completed = maps.Clone(p.Rows), maps.Clone(p.LeftOut), slices.Clone(p.Completed)
	return p
}

// Importing returns the progress of the import of a tenant. Errors: Denied unless the caller is the operator; NotFound, also
// when it has ended.
func (s *Service) Importing(ctx context.Context, name string) (Progress, error) {
	at, err := s.config.Tenants.Importing(ctx, name)
	if err != nil {
		return Progress{}, err
	}
	p, err := read(at)
	var rows int64
	for _, n := range p.Rows {
		rows += n
	}
	return Progress{Tenant: at.TenantID, From: p.Header.TenantID, Frames: at.Frames, Rows: rows, CreatedAt: at.CreatedAt, UpdatedAt: at.UpdatedAt}, err
}

func read(at provision.Import) (p progress, err error) {
	if err := json.Unmarshal(at.State, &p); err != nil {
		return p, fmt.Errorf("read the state of the import of %s: %w", at.TenantID, err)
	}
	return p, nil
}

// Import makes a tenant from an archive. What is stored when it fails stays, and Resume goes on with it; deleting
// the tenant gives it up. Errors: Denied unless the caller is the operator; Invalid for what is no
// archive, is damaged, or was made by a newer ragd; NotFound for the database; Precondition when the import
// began in another one; Exists; Conflict when another call goes on with the same import; Exhausted when
// MaxAtOnce imports are under way, and without space.
func (s *Service) Import(ctx context.Context, i Import, archive io.Reader) (Result, error) {
	if i.Resume { // also checks the caller before anything is read
		at, err := s.config.Tenants.Importing(ctx, i.Tenant)
		if err != nil {
			return Result{}, err
		}
		if i.Database != "" && i.Database != at.Database {
			return Result{}, fault.New(fault.Precondition,
				"tenant %q is being imported into the database %q: go on there, or delete the tenant to begin anew", at.TenantID, at.Database)
		}
		return s.limited(func() (Result, error) { return s.resume(ctx, at, archive) })
	}
	if err := access.RequireOperator(ctx); err != nil {
		return Result{}, err
	}
	return s.limited(func() (Result, error) { return s.begin(ctx, i, archive) })
}

// limited runs do unless MaxAtOnce imports are under way.
func (s *Service) limited(do func() (Result, error)) (Result, error) {
	if !s.imports.TryAcquire("", 1) {
		return Result{}, fault.Retry(busyPause, "this instance makes %d imports already: wait for one of them", MaxAtOnce)
	}
	defer s.imports.Release("", 1)
	return do()
}

func (s *Service) begin(ctx context.Context, i Import, archive io.Reader) (Result, error) {
	frames := frame.NewReader(archive)
	first, err := frames.Next()
	if err != nil {
		return Result{}, err
	}
	p := progress{WithoutKeys: i.WithoutKeys, Order: -1, Rows: map[string]int64{}, LeftOut: map[string]int64{}}
	if err := decode(first.Content, &p.Header, maxDescription); err != nil {
		return Result{}, err
	}
	if err := p.Header.check(); err != nil {
		return Result{}, err
	}
	if p.Header.Asleep {
		return Result{}, fault.New(fault.Invalid, "this is the archive of a tenant that is asleep: wake the tenant with `ragd tenant wake`")
	}
	name := i.Tenant
	if name == "" {
		name = string(p.Header.TenantID)
	}
	begun, err := p.at(frames.Position())
	if err != nil {
		return Result{}, err
	}
	if begun, err = s.config.Tenants.BeginImport(ctx, i.Database, name, begun); err != nil {
		return Result{}, err
	}
	return s.load(ctx, begun, p, frames)
}

func (s *Service) resume(ctx context.Context, at provision.Import, archive io.Reader) (Result, error) {
	p, err := read(at)
	if err != nil {
		return Result{}, err
	}
	position := frame.Position{Frames: uint32(at.Frames)}
	copy(position.Chain[:], at.Chain)
	return s.load(ctx, at, p, frame.Continue(archive, position))
}

// at returns the import as it is stored at a position.
func (p progress) at(position frame.Position) (provision.Import, error) {
	state, err := json.Marshal(p)
	if err != nil {
		return provision.Import{}, fmt.Errorf("write the state of an import: %w", err)
	}
	return provision.Import{Frames: int64(position.Frames), Chain: position.Chain[:], State: state}, nil
}

// load stores the frames that are read, and completes the tenant after the last.
func (s *Service) load(ctx context.Context, stored provision.Import, p progress, frames *frame.Reader) (Result, error) {
	handle := s.config.DB.Handle(stored.TenantID)
	if p.Header.Asleep {
		handle = handle.Waking()
	}
	l := &loading{service: s, handle: handle, stored: stored, progress: p.clone(), frames: frames}
	for {
		f, err := frames.Next()
		if err != nil {
			l.flushRead(ctx)
			return Result{}, unexpected(err)
		}
		switch f.Kind {
		case frame.Section:
			err = l.section(ctx, f.Content)
		case frame.Rows:
			err = l.rows(ctx, f.Content)
		case frame.End:
			return l.end(ctx, f.Content)
		}
		if err != nil {
			return Result{}, err
		}
	}
}

// unexpected returns the error for an archive that ends without its last frame.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return fault.New(fault.Invalid, "the archive ends before it is complete")
	}
	return err
}
