package usage_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// newCollection returns a service with the tenants acme and bolt, a Meter on its database, and the
// database of acme, whose owner has removed what kept rows of usage in order there.
func newCollection(t *testing.T) (s *servicetest.Service, m *usage.Meter, own *pgxpool.Pool) {
	t.Helper()
	s = servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	s.Tenant(t, "bolt")
	own = servicetest.New(t, service.Config{NoWorkers: true}).Pool
	_, err := own.Exec(t.Context(), `
		ALTER TABLE ragd.usage DROP CONSTRAINT usage_stage_check, DROP CONSTRAINT usage_tenant_id_fkey, DROP CONSTRAINT usage_pkey;
		ALTER TABLE ragd.usage ALTER hour DROP NOT NULL, ALTER documents DROP NOT NULL, ALTER index_name DROP NOT NULL`)
	if err != nil {
		t.Fatal(err)
	}
	return s, newMeter(t, s), own
}

// servesAcme is the answer for a database in which acme lives.
func servesAcme(_ context.Context, id tenant.ID) error {
	if id == "acme" {
		return nil
	}
	return fault.New(fault.NotFound, "tenant %q does not live here", id)
}

func exec(t *testing.T, on *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := on.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// rows returns how many rows of usage a database has, and how many documents they count for a tenant.
func rows(t *testing.T, on *pgxpool.Pool, id string) (all int, documents int64) {
	t.Helper()
	err := on.QueryRow(t.Context(), `SELECT count(*), coalesce(sum(documents) FILTER (WHERE tenant_id = $1), 0)::bigint FROM ragd.usage`, id).Scan(&all, &documents)
	if err != nil {
		t.Fatal(err)
	}
	return all, documents
}

// What the owner of a database writes there counts for nobody else, and keeps nothing from being
// collected and written.
func TestMalformedRowsAreDropped(t *testing.T) {
	t.Parallel()
	s, m, own := newCollection(t)
	const good = `'acme', date_trunc('hour', now()), 'docs', 'ingest', '', `
	exec(t, own, `INSERT INTO ragd.usage (tenant_id, hour, index_name, stage, model, documents, chunks, bytes) VALUES
		(`+good+`2, 3, 4), (`+good+`-1, 0, 0), (`+good+`NULL, 0, 0), (`+good+`0, 0, 9223372036854775807), (`+good+`0, 9223372036854775807, 0),
		('acme', now(), 'docs', 'bogus', '', 1, 0, 0),
		('acme', now(), 'docs', 'chat', 'openai/x', 1, 0, 0),
		('acme', 'infinity', 'docs', 'ingest', '', 1, 0, 0),
		('acme', '-infinity', 'docs', 'ingest', '', 1, 0, 0),
		('acme', NULL, 'docs', 'ingest', '', 1, 0, 0),
		('acme', now() + interval '3 hours', 'docs', 'ingest', '', 1, 0, 0),
		('acme', now() - interval '36 days', 'docs', 'ingest', '', 1, 0, 0),
		('acme', now(), repeat('x', 1000000), 'ingest', '', 1, 0, 0),
		('', now(), 'docs', 'ingest', '', 1, 0, 0),
		('bolt', now(), 'docs', 'ingest', '', 1, 0, 0)`)
	var logged bytes.Buffer
	if err := m.Collect(t.Context(), own, slog.New(slog.NewTextHandler(&logged, nil)), servesAcme); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(logged.String(), "\n"); lines != 1 || !strings.Contains(logged.String(), "rows=14") {
		t.Errorf("logged %q", &logged)
	}
	m.Add(t.Context(), "bolt", usage.Query, usage.Counts{Calls: 1})
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, _ := rows(t, own, "acme"); left != 0 {
		t.Errorf("%d rows are left", left)
	}
	if all, documents := rows(t, s.Pool, "acme"); all != 2 || documents != 2 {
		t.Errorf("there are %d rows, and acme has %d documents", all, documents)
	}
	if calls, _ := total(t, s, "bolt"); calls != 1 {
		t.Errorf("bolt has %d calls", calls)
	}
}

// While it is unknown who lives in a database, its rows stay there.
func TestRowsWaitWhileItIsUnknownWhoLivesThere(t *testing.T) {
	t.Parallel()
	s, m, own := newCollection(t)
	exec(t, own, `INSERT INTO ragd.usage (tenant_id, hour, index_name, stage, model, documents)
		VALUES ('acme', now(), 'docs', 'ingest', '', 2), ('bolt', now(), 'docs', 'ingest', '', 5)`)
	err := m.Collect(t.Context(), own, slog.New(slog.DiscardHandler), func(ctx context.Context, id tenant.ID) error {
		if id == "bolt" {
			return fault.New(fault.Unavailable, "the database is not answering")
		}
		return servesAcme(ctx, id)
	})
	if fault.KindOf(err) != fault.Unavailable {
		t.Errorf("the error is %v", err)
	}
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, _ := rows(t, s.Pool, "bolt"); all != 0 {
		t.Errorf("%d rows were written", all)
	}
	if left, _ := rows(t, own, "acme"); left != 2 {
		t.Errorf("%d rows are left", left)
	}
	if err := m.Collect(t.Context(), own, slog.New(slog.DiscardHandler), servesAcme); err != nil {
		t.Fatal(err)
	}
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, documents := rows(t, s.Pool, "acme"); all != 1 || documents != 2 {
		t.Errorf("there are %d rows, and acme has %d documents", all, documents)
	}
}

// A flood of rows takes only a part of the memory for counts: others find room there, though the first
// database takes none meanwhile.
func TestAFloodOfRowsLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	s, m, own := newCollection(t)
	const flood = 130_000
	exec(t, own, `INSERT INTO ragd.usage (tenant_id, hour, index_name, stage, model, documents)
		SELECT 'acme', now(), 'i' || n, 'ingest', '', 1 FROM generate_series(1, 130000) AS n`)
	collect := func() (left int) {
		if err := m.Collect(t.Context(), own, slog.New(slog.DiscardHandler), servesAcme); err != nil {
			t.Fatal(err)
		}
		left, _ = rows(t, own, "acme")
		return left
	}
	left := collect()
	if taken := flood - left; taken != 1000 {
		t.Errorf("%d rows were taken at once", taken)
	}
	for again := collect(); again != left; again = collect() {
		left = again
	}
	if taken := flood - left; taken < 1000 || taken > 60_000 {
		t.Errorf("%d rows were taken in all", taken)
	}
	m.Add(t.Context(), "bolt", usage.Query, usage.Counts{Calls: 1})
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if calls, _ := total(t, s, "bolt"); calls != 1 {
		t.Errorf("bolt has %d calls", calls)
	}
	if collect() >= left {
		t.Error("nothing more is taken when there is room again")
	}
}
