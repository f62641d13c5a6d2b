package sleep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/archive"
	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/place/move"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

const (
	// DefaultKeep is how long the archive of a tenant is kept that was woken.
	DefaultKeep = 7 * 24 * time.Hour
	// MaxKeep is the most that Keep may be.
	MaxKeep = 365 * 24 * time.Hour
	// maxTime ends an attempt to put a tenant to sleep: its writes are refused meanwhile.
	maxTime = time.Hour
	// undoTimeout bounds what is done after a failure or an interruption.
	undoTimeout = 2 * time.Minute
)

// Config has what a Service uses. Store, Keys, After, Keep, FellAsleep, Woke and Logger may be missing.
type Config struct {
	Tenants  *provision.Service
	Archives *archive.Service
	// DB has the connections for background work.
	DB *data.DB
	// Control is the pool of the first database.
	Control *pgxpool.Pool
	// Store keeps the archives. Without it no tenant can be put to sleep.
	Store Store
	// Keys encrypt the keys of archives. Without them no tenant can be put to sleep.
	Keys *seal.Keys
	// After is how long a tenant is unused before Run puts it to sleep, unless its settings say it. Default: never.
	After time.Duration
	// Keep is how long an archive is kept after its tenant was woken, so that a backup of the database can be restored
	// in which the tenant is asleep. Default: DefaultKeep.
	Keep time.Duration
	// FellAsleep and Woke are called when a tenant is asleep and when it is awake.
	FellAsleep, Woke func(tenant.ID)
	Logger           *slog.Logger

	step func(name string) // called before each step, for tests
	hold time.Duration     // another one than hold, for tests
}

// Service puts tenants to sleep and wakes them. Safe for concurrent use.
type Service struct {
	config Config
	first  *provision.Database
	slots  chan struct{} // one for each waking at once

	base context.Context //nolint:containedctx // of wakings, which outlive the requests that begin them
	stop context.CancelFunc
	left chan struct{} // has an element when a call has left something for Run

	mu     sync.Mutex
	wakes  map[tenant.ID]*waking // that this instance runs or waits to run
	failed map[tenant.ID]failure // that are not tried again yet
	group  sync.WaitGroup
}

// New returns a Service. Call Close at the end. Errors: Invalid for a duration out of range.
func New(ctx context.Context, config Config) (*Service, error) {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.FellAsleep == nil {
		config.FellAsleep = func(tenant.ID) {}
	}
	if config.Woke == nil {
		config.Woke = func(tenant.ID) {}
	}
	if config.step == nil {
		config.step = func(string) {}
	}
	config.hold = cmp.Or(config.hold, hold)
	config.Keep = cmp.Or(config.Keep, DefaultKeep)
	if config.Keep < 0 || config.Keep > MaxKeep {
		return nil, fault.Field("sleep-keep", "must be from 1s to %v, got %v", MaxKeep, config.Keep)
	}
	if config.After != 0 && config.After < tenant.MinSleepAfter {
		return nil, fault.Field("sleep-after", "must be 0 for never, or at least %v, got %v", tenant.MinSleepAfter, config.After)
	}
	first, err := config.Tenants.Database(ctx, "")
	if err != nil {
		return nil, err
	}
	s := &Service{config: config, first: first, slots: make(chan struct{}, MaxAtOnce), left: make(chan struct{}, 1), wakes: map[tenant.ID]*waking{}, failed: map[tenant.ID]failure{}}
	s.base, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Close ends the wakings of this instance, which other calls begin again.
func (s *Service) Close() {
	s.stop()
	s.group.Wait()
}

// usable returns an error unless archives can be written and read. Errors: Precondition.
func (s *Service) usable() error {
	switch {
	case s.config.Store == nil:
		return fault.New(fault.Precondition, "there is no storage for the archives of tenants that are asleep: set %s to a folder or a bucket", Setting)
	case s.config.Keys == nil:
		return fault.New(fault.Precondition, "this server has no master key, which encrypts the archives of tenants that are asleep: set RAGD_MASTER_KEY")
	}
	return nil
}

// Sleep puts a tenant to sleep, and returns when it is. A tenant that is asleep stays as it is. Errors: Denied unless
// the caller is the operator; NotFound; Precondition while the tenant has work that has not ended, is moved, lives in
// a registered database or a distributed one, and without Store or Keys; Conflict while another call changes the tenant.
func (s *Service) Sleep(ctx context.Context, name string) (provision.Tenant, error) {
	found, err := s.config.Tenants.Get(ctx, name)
	if err != nil || found.State == provision.Asleep {
		return found, err
	}
	if err := s.sleep(ctx, found.TenantID); err != nil {
		return provision.Tenant{}, err
	}
	return s.config.Tenants.Get(ctx, name)
}

// sleep is Sleep, without a check of the caller.
func (s *Service) sleep(ctx context.Context, id tenant.ID) error {
	if err := s.usable(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fault.New(fault.Deadline, "the tenant could not be put to sleep in %v", maxTime))
	defer cancel()
	start := time.Now()
	return s.config.Tenants.Unshared(ctx, id, func(conn *pgxpool.Conn) error {
		if err := s.settle(ctx, conn, id); err != nil { // of an interrupted call
			return err
		}
		if err := s.checkUsed(ctx, conn, id); err != nil {
			return err
		}
		r, dataKey, err := begin(ctx, conn, s.config.Keys, id)
		if err != nil {
			return err
		}
		bytes, err := s.archive(ctx, conn, r, dataKey)
		if err != nil {
			failed := s.undo(ctx, conn, r)
			if failed != nil {
				s.leave()
			}
			return errors.Join(err, context.Cause(ctx), failed)
		}
		s.config.FellAsleep(id)
		if err := s.drop(ctx, conn, r); err != nil { // it is asleep all the same
			s.config.Logger.WarnContext(ctx, "the data of a tenant that is asleep is dropped later", "tenant", id, "err", err)
		}
		s.config.Logger.InfoContext(ctx, "tenant put to sleep", "tenant", id, "bytes", bytes, "duration_ms", time.Since(start).Milliseconds())
		return nil
	})
}

// checkUsed returns an error unless a tenant is in use, in the first database. Errors: NotFound, Precondition.
func (s *Service) checkUsed(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error {
	row, err := tenant.FindReady(ctx, conn, string(id))
	switch {
	case err != nil:
		return err
	case row.DatabaseName != "":
		return fault.New(fault.Precondition, "tenant %q lives in the database %s: only tenants of the database %s can be put to sleep, so move it there", id, row.DatabaseName, tenant.FirstDatabase)
	case s.first.Distributed():
		return fault.New(fault.Precondition, "the tenants of the database %s are spread by Citus, and cannot be put to sleep", tenant.FirstDatabase)
	}
	return s.checkIdle(ctx, conn, id)
}

// archive writes the archive of a tenant, reads it again, and makes the switch. It returns the bytes of the archive.
func (s *Service) archive(ctx context.Context, conn *pgxpool.Conn, r record, dataKey []byte) (bytes int64, err error) {
	s.config.step("stop writes")
	if err := move.StopWrites(ctx, s.first, conn, r.TenantID); err != nil {
		return 0, err
	}
	if err := s.checkIdle(ctx, conn, r.TenantID); err != nil { // work may have begun before that
		return 0, err
	}
	s.config.step("write")
	bytes, wrote, err := s.write(ctx, r, dataKey)
	if err != nil {
		return 0, err
	}
	s.config.step("read back")
	read, err := s.check(ctx, r, dataKey)
	if err != nil {
		return 0, fmt.Errorf("read the archive back: %w", err)
	}
	if read != wrote {
		return 0, fault.New(fault.Unavailable, "the storage of archives has not kept what was written to it")
	}
	s.config.step("switch")
	return bytes, fallAsleep(ctx, conn, r, bytes, read)
}

// write stores the archive of a tenant. It returns its bytes, and the position after its last frame.
func (s *Service) write(ctx context.Context, r record, dataKey []byte) (bytes int64, end frame.Position, err error) {
	from, to := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	exported := make(chan error, 1)
	go func() {
		var err error
		end, err = s.export(ctx, r, dataKey, to)
		_ = to.CloseWithError(err) // never fails
		exported <- err
	}()
	bytes, err = s.config.Store.Put(ctx, r.name(), from)
	cancel()
	_ = from.Close() // ends an export whose bytes nobody takes
	if failed := <-exported; failed != nil && (err == nil || fault.KindOf(err) == fault.Internal) {
		err = failed
	}
	return bytes, end, err
}

// export writes the encrypted archive of a tenant.
func (s *Service) export(ctx context.Context, r record, dataKey []byte, to io.Writer) (frame.Position, error) {
	sealed, err := seal.NewWriter(to, dataKey, r.belongsTo()...)
	if err != nil {
		return frame.Position{}, err
	}
	end, err := s.config.Archives.ExportAsleep(ctx, r.TenantID, sealed)
	if err != nil {
		return end, err
	}
	return end, sealed.Close()
}

// check reads an archive in the store, and returns the position after its last frame.
func (s *Service) check(ctx context.Context, r record, dataKey []byte) (end frame.Position, err error) {
	err = s.open(ctx, r, dataKey, func(archived io.Reader) error {
		end, err = archive.Check(r.TenantID, archived)
		return err
	})
	return end, err
}

// open calls do with the content of an archive. Errors: Precondition for an archive that is missing or was altered.
func (s *Service) open(ctx context.Context, r record, dataKey []byte, do func(io.Reader) error) error {
	stored, err := s.config.Store.Get(ctx, r.name())
	if err == nil {
		defer func() { _ = stored.Close() }() // it was read
		var opened io.Reader
		if opened, err = seal.NewReader(stored, dataKey, r.belongsTo()...); err != nil {
			return err
		}
		err = do(opened)
	}
	switch {
	case errors.Is(err, seal.ErrNotAuthentic):
		return fault.Wrap(fault.Precondition, err, "the archive %s was altered or cut off, or belongs to another tenant: restore it from a copy", r.name())
	case errors.Is(err, errMissing):
		return fault.Wrap(fault.Precondition, err, "the archive %s is not in the storage of archives: restore it from a copy", r.name())
	}
	return err
}

// leave has Run complete soon what a call has left.
func (s *Service) leave() {
	select {
	case s.left <- struct{}{}:
	default:
	}
}

// undo lets the writes of a tenant go on that could not be put to sleep, and removes its archive.
func (s *Service) undo(ctx context.Context, conn *pgxpool.Conn, r record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	now, err := current(ctx, conn, r.TenantID)
	if err != nil || now.Phase != archiving { // the switch was made, or nobody knows
		return err
	}
	if err := move.ResumeWrites(ctx, s.first, conn, r.TenantID); err != nil {
		return fmt.Errorf("let the writes of the tenant go on: %w", err)
	}
	if err := s.config.Store.Delete(ctx, r.name()); err != nil {
		return fmt.Errorf("delete an archive that is not needed: %w", err)
	}
	return forget(ctx, conn, r)
}

// drop removes from the database what the archive of a tenant has.
func (s *Service) drop(ctx context.Context, conn *pgxpool.Conn, r record) error {
	s.config.step("drop")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if err := move.Remove(ctx, s.first, conn, r.TenantID); err != nil {
		return err
	}
	s.config.step("dropped")
	return dropped(ctx, conn, r)
}

// settle completes or undoes what an interrupted call has left of a tenant. conn has the lock of the tenant.
func (s *Service) settle(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error {
	r, err := current(ctx, conn, id)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return nil
	case err != nil:
		return err
	case r.Phase == archiving:
		return s.undo(ctx, conn, r)
	case r.Phase == dropping:
		return s.drop(ctx, conn, r)
	}
	return nil
}

// Erase deletes all archives of a tenant that is being deleted, first their keys. conn has the lock of the tenant.
func (s *Service) Erase(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error {
	all, err := list(ctx, conn, `s.tenant_id = $1`, id)
	if err != nil || len(all) == 0 {
		return err
	}
	if s.config.Store == nil {
		return s.usable()
	}
	for _, r := range all {
		if _, err := conn.Exec(ctx, `UPDATE ragd.sleeps SET sealed_key = NULL WHERE archive_id = $1::uuid`, r.ArchiveID); err != nil {
			return fmt.Errorf("erase the key of an archive: %w", err)
		}
		if err := s.config.Store.Delete(ctx, r.name()); err != nil {
			return err
		}
	}
	return nil
}
