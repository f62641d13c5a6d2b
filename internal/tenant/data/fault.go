package data

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/migrations"
)

// SQLSTATEs of statements that use a dropped table, schema or role.
const (
	invalidParameterValue = "22023" // set_config('role', a dropped role)
	undefinedSchema       = "3F000"
	undefinedColumn       = "42703"
	undefinedFunction     = "42883"
)

// translate returns the fault of a driver error. A missing table means that the index was
// deleted meanwhile, or, as a missing column or function, that the tenant is not migrated
// yet. A missing role or right means that the tenant was deleted or cannot be served. The
// caller must have released its connection.
func (h *Handle) translate(ctx context.Context, err error) error {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		switch pgErr.Code {
		case postgres.CodeDiskFull:
			h.storage.ReportFull()
		case writesStopped:
			return beingMoved(h.id, err)
		case notServedHere:
			if h.leaving(ctx) {
				return beingMoved(h.id, err)
			}
			switch status := h.status(ctx); {
			case status == tenant.StatusDeleted:
				return fault.Wrap(fault.NotFound, &deletedError{err}, "tenant %q was deleted", h.id)
			case h.sleeps(status):
				return Asleep(h.id, err)
			}
			return h.diagnose(ctx, err)
		case postgres.CodeUndefinedTable, undefinedSchema, postgres.CodeInsufficientPrivilege:
			if moved := h.movedFault(ctx, err); moved != nil {
				return moved
			}
			if h.sleeps(h.status(ctx)) {
				return Asleep(h.id, err)
			}
		}
		switch pgErr.Code {
		case postgres.CodeUndefinedTable, undefinedColumn, undefinedFunction:
			if behind := h.behindFault(ctx, err); behind != nil {
				return behind
			}
			if pgErr.Code == postgres.CodeUndefinedTable {
				return &GoneError{cause: err}
			}
		case postgres.CodeInsufficientPrivilege:
			return h.diagnose(ctx, err)
		case invalidParameterValue, undefinedSchema, postgres.CodeUndefinedObject:
			if strings.Contains(pgErr.Message, h.id.Schema()) {
				if h.sleeps(h.status(ctx)) {
					return Asleep(h.id, err)
				}
				return h.diagnose(ctx, err)
			}
		}
	}
	return h.site.Fault(err)
}

// GoneError is the error for a statement on a table that does not exist. A caller that
// cached the index's number or generation should look them up again. For other callers it
// is a fault of the kind NotFound.
type GoneError struct{ cause error }

// Error returns the driver's text, for the log.
func (e *GoneError) Error() string { return e.cause.Error() }

// Unwrap returns the fault that callers may see.
func (e *GoneError) Unwrap() error {
	return fault.Wrap(fault.NotFound, e.cause, "the index was deleted")
}

// behindFault returns the error for a statement of a tenant that failed because the
// tenant's schema is older than this ragd needs; nil if it is up to date.
func (h *Handle) behindFault(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	var behind bool
	const q = `SELECT schema_version < $2 FROM ragd.tenants WHERE tenant_id = $1`
	if h.site.Pool.QueryRow(ctx, q, h.id, newestVersion()).Scan(&behind) != nil || !behind {
		return nil
	}
	return fault.Wrap(fault.Unavailable, cause,
		"tenant %q is not migrated to this version of ragd yet: try again later; the operator of the service runs `ragd migrate`, and `ragd migrate --status` tells what is left", h.id)
}

// newestVersion is the newest version of a tenant's schema.
var newestVersion = sync.OnceValue(func() int { return migrations.Newest(migrations.Tenant()) })

// movedFault returns the error for a statement that failed because the tenant has left the
// database while it ran, or nil.
func (h *Handle) movedFault(ctx context.Context, cause error) error {
	if h.placement == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	if moved, err := h.placement.Moved(ctx, h.id, h.site); err != nil || !moved {
		return nil
	}
	return beingMoved(h.id, cause)
}

// diagnose returns the error for a tenant whose role the database refuses or does not
// know: Unavailable if the tenant cannot be served, otherwise if it does not exist
// NotFound, otherwise err itself. The caller must not have a connection of the pool.
func (h *Handle) diagnose(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	var service string
	if h.site.Pool.QueryRow(ctx, `SELECT current_user::text`).Scan(&service) != nil {
		return postgres.Fault(err)
	}
	found, failed := FindUnserved(ctx, h.site.Pool, service, []string{service}, h.id)
	if failed != nil {
		return postgres.Fault(err)
	}
	if len(found) > 0 {
		return fault.Wrap(fault.Unavailable, err,
			"tenant %q cannot be served, because %s: the operator of the service must run `ragd tenant repair %[1]s`", h.id, found[0].Problem)
	}
	if postgres.Code(err) == postgres.CodeInsufficientPrivilege {
		return postgres.Fault(err)
	}
	return fault.Wrap(fault.NotFound, err, "tenant %q not found", h.id)
}

// diagnoseTimeout bounds the check of a tenant after a statement of it failed.
const diagnoseTimeout = 2 * time.Second

// status returns the status of the tenant; empty if it cannot be read.
func (h *Handle) status(ctx context.Context) (status string) {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	if h.site.Pool.QueryRow(ctx, `SELECT t.status FROM ragd.tenants AS t WHERE t.tenant_id = $1`, h.id).Scan(&status) != nil {
		return "" // the error that is looked at says enough
	}
	return status
}

// sleeps reports whether a status is that of a tenant that is asleep or waking, for a handle that does not wake it.
func (h *Handle) sleeps(status string) bool {
	return !h.waking && (status == tenant.StatusAsleep || status == tenant.StatusWaking)
}

// deletedError is the cause of an error about a tenant that was deleted and can be restored.
type deletedError struct{ error }

// Unwrap returns the driver's error.
func (e *deletedError) Unwrap() error { return e.error }

// Deleted reports whether a statement has failed because its tenant was deleted and can be restored.
func Deleted(err error) bool {
	var deleted *deletedError
	return errors.As(err, &deleted)
}

// Asleep returns the fault for a request of a tenant that is asleep.
func Asleep(id tenant.ID, cause error) *fault.Error {
	asleep := fault.Wrap(fault.Unavailable, cause, "tenant %q is asleep: try again, and it wakes", id)
	asleep.RetryAfter = time.Second
	return asleep
}

// beingMoved returns the fault for a tenant that is moved to another database.
func beingMoved(id tenant.ID, cause error) error {
	moving := fault.Wrap(fault.Unavailable, cause, "tenant %q is being moved to another database, or put to sleep: try again", id)
	moving.RetryAfter = time.Second
	return moving
}

// BeingMoved reports whether a statement has failed only because its tenant is being moved to another database.
func BeingMoved(err error) bool {
	code := postgres.Code(err)
	return fault.KindOf(err) == fault.Unavailable && (code == writesStopped || code == notServedHere) // else the tenant is gone
}

// Unreachable returns the fault for a registered database that does not answer.
func Unreachable(name string, cause error) error {
	return fault.Wrap(fault.Unavailable, cause, "the database %q, in which this tenant lives, is not answering; retry", name)
}

// Fault is postgres.Fault, which also names the database if that does not answer.
func (s *Site) Fault(err error) error {
	var known *fault.Error
	found := postgres.Fault(err)
	if s.Name == "" || fault.KindOf(found) != fault.Unavailable || errors.As(err, &known) {
		return found
	}
	return Unreachable(s.Name, err)
}
