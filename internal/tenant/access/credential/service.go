package credential

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Config holds the settings of a Service.
type Config struct {
	// OperatorKey is an operator credential that is accepted besides the operator keys
	// in the database. Default: only those are accepted.
	OperatorKey string
	// Tokens verifies access tokens; nil if only API keys are accepted.
	Tokens Tokens
	// Databases are those besides the first one in which tenants live. Default: none.
	Databases Databases
	// PlanContact is where a tenant gets a larger plan, for errors; empty for none.
	PlanContact string
	// Logger gets a line for each event of a key that is lost. Default: none.
	Logger *slog.Logger
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Databases are the registered databases in which tenants live. Safe for concurrent use.
type Databases interface {
	// Own reports whether a tenant lives in a database that it brought.
	Own(ctx context.Context, id tenant.ID) (bool, error)
	// Pool returns the pool for requests of a registered database. Errors: NotFound,
	// Unavailable when it does not answer.
	Pool(ctx context.Context, name string) (*pgxpool.Pool, error)
}

// Service manages API keys and the issuers of tenants, and authenticates callers. Safe for
// concurrent use.
type Service struct {
	Auth    *Authenticator
	KeyUses *KeyUses
	store   *store
	now     func() time.Time
}

// minOperatorKeyBytes is the minimum length of a configured operator key.
const minOperatorKeyBytes = 12

// New returns a Service on the control schema in the pool's database, which must have been
// migrated before.
func New(ctx context.Context, pool *pgxpool.Pool, config Config) (*Service, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if n := len(config.OperatorKey); n > 0 && n < minOperatorKeyBytes {
		return nil, fault.Field("operator-key", "has %d bytes and could be guessed: use 32 random characters or more, at least %d", n, minOperatorKeyBytes)
	}
	s := &store{pool: pool, databases: config.Databases, contact: config.PlanContact, log: config.Logger}
	key, err := s.secret(ctx, "page tokens")
	if err != nil {
		return nil, err
	}
	links, err := linkCipher(key)
	if err != nil {
		return nil, err
	}
	return &Service{
		Auth: newAuthenticator(s, config, pagination.NewTokens(key), links), KeyUses: newKeyUses(s, config.Now),
		store: s, now: config.Now,
	}, nil
}
