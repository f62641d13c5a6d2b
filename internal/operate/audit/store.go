package audit

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/telemetry"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

// begin adds the entry of an action without its outcome and returns its id.
func (l *Log) begin(ctx context.Context, r *access.Request, on string, a Action) (id int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	client := ""
	if address := credential.ClientOf(ctx); address.IsValid() {
		client = address.Unmap().String()
	}
	err = l.config.Control.QueryRow(ctx, `
		INSERT INTO ragd.audit_log (kind, tenant_id, subject, operator, issuer, client, method, object, request_id, calls)
		VALUES ('action', $1, $2, $3, $4, $5, $6, $7, $8, 1) RETURNING entry_id`,
		cleanText(on), cleanText(r.Principal.Subject), r.Principal.Has(access.Operator), cleanText(r.Principal.Issuer), client, a.Method, clean(a.Object),
		httpserver.RequestID(ctx)).Scan(&id)
	return id, postgres.Fault(err)
}

// end adds the outcome to the entry of an action, also if the caller is gone.
func (l *Log) end(ctx context.Context, id int64, outcome string, result map[string]string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	_, err := l.config.Control.Exec(ctx, `UPDATE ragd.audit_log SET outcome = $2, answered_at = clock_timestamp(), result = $3 WHERE entry_id = $1`, id, outcome, clean(result))
	if err != nil {
		telemetry.AuditFailed(ctx)
		l.config.Logger.ErrorContext(ctx, "the outcome of an action is not in the audit log", "entry", id, "outcome", outcome, "err", err)
	}
}

// write adds the sums of denied calls and of decisions.
func (l *Log) write(ctx context.Context, waiting map[denial]*denials, decided map[decision]*denials) error {
	var kinds, tenants, subjects, clients, methods, outcomes, requests, objects []string
	var calls []int
	add := func(kind Kind, of denial, object string, sum *denials) {
		kinds, objects = append(kinds, string(kind)), append(objects, object)
		tenants, subjects, clients = append(tenants, cleanText(of.tenant)), append(subjects, cleanText(of.subject)), append(clients, of.client)
		methods, outcomes = append(methods, of.method), append(outcomes, of.outcome)
		requests, calls = append(requests, sum.requestID), append(calls, sum.calls)
	}
	for of, sum := range waiting {
		add(Denials, of, "{}", sum)
	}
	for of, sum := range decided {
		object, err := json.Marshal(clean(of.object()))
		if err != nil {
			return err
		}
		add(Policies, of.denial, string(object), sum)
	}
	_, err := l.config.Control.Exec(ctx, `
		INSERT INTO ragd.audit_log (kind, tenant_id, subject, operator, issuer, client, method, object, request_id, calls, outcome)
		SELECT given.kind, given.tenant_id, given.subject, false, '', given.client, given.method, given.object::jsonb, given.request_id, given.calls, given.outcome
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::integer[])
			AS given (kind, tenant_id, subject, client, method, object, outcome, request_id, calls)`,
		kinds, tenants, subjects, clients, methods, objects, outcomes, requests, calls)
	return postgres.Fault(err)
}

// Sweep deletes the entries that are older than the retention.
func (l *Log) Sweep(ctx context.Context) error {
	_, err := l.config.Control.Exec(ctx, `DELETE FROM ragd.audit_log WHERE recorded_at < clock_timestamp() - $1::interval`, l.config.Retention)
	return postgres.Fault(err)
}

// position is the sort key of an entry: newest first.
type position struct {
	ID int64 `json:"id"`
}

// list returns at most so many entries after a position, newest first; of all tenants if id is
// nil. A tenant of the same name that was deleted before is another one.
func (l *Log) list(ctx context.Context, id *tenant.ID, q Question, after *position, most int) ([]Entry, error) {
	args := pgx.NamedArgs{
		"tenant": id, "kind": string(q.Kind), "subject": q.Subject, "method": q.Method, "outcome": q.Outcome, "from": orNull(q.From), "to": orNull(q.To),
		"after": nil, "most": most,
	}
	if after != nil {
		args["after"] = after.ID
	}
	rows, _ := l.config.Control.Query(ctx, `
		SELECT a.entry_id AS id, a.recorded_at AS at, a.kind, a.tenant_id AS tenant, a.subject, a.operator, a.issuer, a.client, a.method, a.object, a.request_id, a.calls,
			coalesce(a.outcome, '') AS outcome, a.answered_at AS answered, coalesce(a.result, '{}') AS result
		FROM ragd.audit_log AS a
		WHERE (@tenant::text IS NULL OR a.tenant_id = @tenant AND a.recorded_at >= (SELECT t.created_at FROM ragd.tenants AS t WHERE t.tenant_id = @tenant))
			AND (@after::bigint IS NULL OR a.entry_id < @after)
			AND (@from::timestamptz IS NULL OR a.recorded_at >= @from) AND (@to::timestamptz IS NULL OR a.recorded_at < @to)
			AND (@kind = '' OR a.kind = @kind) AND (@subject = '' OR a.subject = @subject)
			AND (@method = '' OR a.method = @method OR a.method LIKE '%/' || @method) AND (@outcome = '' OR coalesce(a.outcome, 'unknown') = @outcome)
		ORDER BY a.entry_id DESC LIMIT @most`, args)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[Entry])
	return found, postgres.Fault(err)
}

// orNull returns the time, nil if it is zero.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
