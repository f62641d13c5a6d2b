package idempotency

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
)

// claimAttempts is how often a claim is tried when the key is given back at the same moment.
const claimAttempts = 3

// row is what is stored of a key that another call has.
type row struct {
	RequestHash  []byte
	Running      bool
	NotKept      bool
	Answer       []byte
	SealedAnswer []byte
	Fault        *fault.Error
}

// belongsTo is what a sealed answer belongs to.
func (e entry) belongsTo() []string {
	return []string{"idempotent call", string(e.tenant), hex.EncodeToString(e.call)}
}

// tenantOrNull returns nil for a call about no tenant.
func (e entry) tenantOrNull() any {
	if e.tenant == "" {
		return nil
	}
	return string(e.tenant)
}

// claim takes the key for this run, or returns what is stored of it. Errors: NotFound for a tenant that
// does not exist; Unavailable.
func (k *Keeper) claim(ctx context.Context, e entry) (*row, error) {
	for range claimAttempts {
		tag, err := k.config.Control.Exec(ctx, `
			INSERT INTO ragd.idempotent_calls AS c (call_hash, tenant_id, request_hash, claim, claimed_until) VALUES ($1, $2, $3, $4, now() + $5::interval)
			ON CONFLICT (call_hash) DO UPDATE SET request_hash = excluded.request_hash, claim = excluded.claim, claimed_until = excluded.claimed_until,
				ended_at = NULL, fault = NULL, answer = NULL, sealed_answer = NULL, answer_bytes = 0, created_at = now()
			WHERE c.created_at < now() - $6::interval OR c.ended_at IS NULL AND c.claimed_until < now() AND c.request_hash = excluded.request_hash`,
			e.call, e.tenantOrNull(), e.request, e.claim, lease, Retention)
		switch {
		case postgres.Code(err) == foreignKeyViolation:
			return nil, fault.New(fault.NotFound, "tenant %q not found", e.tenant)
		case err != nil:
			return nil, postgres.Fault(err)
		case tag.RowsAffected() > 0:
			return nil, nil
		}
		found, err := k.find(ctx, e)
		if found != nil || err != nil {
			return found, err
		}
	}
	return &row{RequestHash: e.request, Running: true}, nil
}

// foreignKeyViolation is the SQLSTATE of a row whose tenant does not exist.
const foreignKeyViolation = "23503"

// find returns what is stored of a key; nil if nothing is.
func (k *Keeper) find(ctx context.Context, e entry) (*row, error) {
	var r row
	err := k.config.Control.QueryRow(ctx, `
		SELECT request_hash, ended_at IS NULL, ended_at IS NOT NULL AND num_nonnulls(fault, answer, sealed_answer) = 0, answer, sealed_answer, fault
		FROM ragd.idempotent_calls WHERE call_hash = $1`, e.call).Scan(&r.RequestHash, &r.Running, &r.NotKept, &r.Answer, &r.SealedAnswer, &r.Fault)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &r, postgres.Fault(err)
}

// extend renews the claim of a running call.
func (k *Keeper) extend(ctx context.Context, e entry) error {
	_, err := k.config.Control.Exec(ctx, `UPDATE ragd.idempotent_calls SET claimed_until = now() + $3::interval WHERE call_hash = $1 AND claim = $2`, e.call, e.claim, lease)
	return postgres.Fault(err)
}

// end keeps the answer of a call, or the error that the caller caused.
func (k *Keeper) end(ctx context.Context, e entry, answer []byte, caused *fault.Error, secret bool) error {
	var plain, sealed []byte
	switch {
	case caused != nil || len(answer) > MaxAnswerBytes || secret && k.config.Keys == nil:
	case secret:
		sealed = k.config.Keys.Seal(answer, e.belongsTo()...)
	default:
		plain = append([]byte{}, answer...) // an empty answer is not null
	}
	_, err := k.config.Control.Exec(ctx, `
		UPDATE ragd.idempotent_calls SET ended_at = now(), fault = $3, answer = $4, sealed_answer = $5, answer_bytes = $6 WHERE call_hash = $1 AND claim = $2`,
		e.call, e.claim, caused, plain, sealed, len(plain)+len(sealed))
	return postgres.Fault(err)
}

// release gives the key of a call back, so that a repeat runs again.
func (k *Keeper) release(ctx context.Context, e entry) error {
	_, err := k.config.Control.Exec(ctx, `DELETE FROM ragd.idempotent_calls WHERE call_hash = $1 AND claim = $2`, e.call, e.claim)
	return postgres.Fault(err)
}

// count counts what is kept of a tenant.
func (k *Keeper) count(ctx context.Context, of tenant.ID) (count, error) {
	found := count{at: time.Now()}
	err := k.config.Control.QueryRow(ctx, `SELECT count(*), coalesce(sum(answer_bytes), 0) FROM ragd.idempotent_calls WHERE tenant_id = $1`, of).Scan(&found.keys, &found.bytes)
	return found, postgres.Fault(err)
}

// Sweep deletes what is older than Retention.
func (k *Keeper) Sweep(ctx context.Context) error {
	_, err := k.config.Control.Exec(ctx, `DELETE FROM ragd.idempotent_calls WHERE created_at < now() - $1::interval`, Retention)
	return postgres.Fault(err)
}
