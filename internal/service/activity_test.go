package service_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// touched records which tenants' schemas statements name, and how many statements name none.
type touched struct {
	mu      sync.Mutex
	tenants map[string]int
	others  int
}

var schemaName = regexp.MustCompile(`tenant_(active|idle)-[0-9a-f]+-[0-9]+`)

func (r *touched) add(sql string, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := schemaName.FindString(sql + fmt.Sprint(args...))
	if name == "" {
		r.others++
		return
	}
	r.tenants[name]++
}

func (r *touched) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	r.add(q.SQL, q.Args)
	return ctx
}

func (r *touched) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *touched) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	for _, q := range b.Batch.QueuedQueries {
		r.add(q.SQL, q.Arguments)
	}
	return ctx
}

func (r *touched) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (r *touched) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// names returns the schemas that statements named.
func (r *touched) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.tenants))
}

// traced returns a pool for the role of another one whose statements are recorded.
func traced(t *testing.T, like *pgxpool.Pool, r *touched) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), postgres.Config{URL: like.Config().ConnString(), MaxConns: 10, Tracer: r})
	must(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// An instance starts on a database of many tenants, of which few have work to do. It ingests
// their documents, maintains their indexes, answers readiness checks, and runs no statement
// for any other tenant.
func TestBackgroundWorkTouchesOnlyActiveTenants(t *testing.T) {
	t.Parallel()
	const idle, active = 95, 5
	s := servicetest.New(t, service.Config{NoWorkers: true})
	stamp := time.Now().UnixNano() & 0xffffffff // roles belong to the whole server, which tests share
	operator := access.NewContext(t.Context(), &access.Request{Principal: access.Principal{Scopes: []access.Scope{access.Operator}}})
	for n := range idle {
		_, err := s.Tenants.Create(operator, fmt.Sprintf("idle-%x-%d", stamp, n), "", nil)
		must(t, err)
	}
	var want []string
	clients := map[string]servicetest.Client{}
	documents := map[string]string{}
	for n := range active {
		id := fmt.Sprintf("active-%x-%d", stamp, n)
		c := s.Tenant(t, id)
		c.Index(t, "docs")
		accepted, err := c.UploadDocument(t.Context(), upload("a"))
		must(t, err)
		want, clients[id], documents[id] = append(want, tenant.ID(id).Schema()), c, accepted.Document.DocumentId
	}

	found := &touched{tenants: map[string]int{}}
	pool, admin := traced(t, s.ServicePool, found), traced(t, s.Pool, found)
	second, err := service.New(t.Context(), service.Config{
		Listen: "127.0.0.1:0", OperatorKey: servicetest.OperatorKey, Workers: 2, Pool: pool, AdminPool: admin,
	})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- second.Run(ctx) }()
	for id, c := range clients {
		wait.For(t, "the documents to be ready", func() bool {
			d, err := c.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", DocumentId: documents[id]})
			return err == nil && d.Status == "ready"
		})
	}
	readiness(t, &servicetest.Service{Service: second, URL: second.URL()})
	wait.For(t, "the end of all jobs", func() bool {
		var waiting int
		must(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.river_job WHERE finalized_at IS NULL`).Scan(&waiting))
		return waiting == 0
	})
	cancel()
	must(t, <-done)
	must(t, second.Close())
	if diff := cmp.Diff(want, found.names()); diff != "" {
		t.Errorf("statements name tenants (-want +got):\n%s", diff)
	}
	t.Logf("%d statements name no tenant", found.others)
}
