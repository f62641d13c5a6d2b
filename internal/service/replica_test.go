package service_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/place/replica"
)

// replicaPatience is how long a test waits for a replica on a busy machine.
const replicaPatience = 2 * time.Minute

// withReplica returns a service with one replica, and the server of that.
func withReplica(t *testing.T, config service.Config) (*servicetest.Service, *pgtest.Server) {
	t.Helper()
	primary := pgtest.Primary(t)
	config.AdminPool = primary.Pool(t)
	standby := primary.Replica(t)
	config.DatabaseReadURLs = []string{standby.ServiceURL()}
	s := servicetest.New(t, config)
	awaitReplica(t, s, "")
	return s, standby
}

// awaitReplica waits until the replica is used, or is not for a reason.
func awaitReplica(t *testing.T, s *servicetest.Service, reason replica.Reason) {
	t.Helper()
	wait.For(t, fmt.Sprintf("the state %q of the replica", reason), func() bool { return s.Replicas.Status().Replicas[0].Reason == reason })
}

// tokenOf calls do, which must write, and returns the write token of its answer.
func tokenOf(t *testing.T, do func(ctx context.Context) error) string {
	t.Helper()
	ctx, info := connect.NewClientContext(t.Context())
	if err := do(ctx); err != nil {
		t.Fatal(err)
	}
	token := info.ResponseHeader().Get(access.WriteTokenHeader)
	if token == "" {
		t.Fatal("the answer of a write has no write token")
	}
	return token
}

// put makes an index with documents that mention each other, and returns their ids and the write token
// of the time at which they can be found.
func put(t *testing.T, c servicetest.Client, texts map[string]string) (ids []string, token string) {
	t.Helper()
	c.Index(t, "main")
	for uri, text := range texts {
		ids = append(ids, c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "main", Uri: uri, Title: uri, Source: servicetest.Text(text)}).DocumentId)
	}
	return ids, tokenOf(t, func(ctx context.Context) error {
		_, err := c.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "main", DocumentId: ids[0]})
		return err
	})
}

var harbour = map[string]string{
	"Harbour":    "The Harbour has a lighthouse. See Lighthouse for its height.",
	"Lighthouse": "The Lighthouse is 40 metres high, and its keeper lives in the Harbour.",
	"Quarry":     "The Quarry is far from the Harbour and the Lighthouse.",
}

// Two tenants have the same texts. What one finds at the replica is never the other's, in every mode and
// in walks of the graph, one after the other on the same connections.
func TestTenantsNeverSeeEachOtherAtAReplica(t *testing.T) {
	t.Parallel()
	s, _ := withReplica(t, service.Config{})
	type side struct {
		servicetest.Client
		ids   []string
		token string
	}
	sides := map[string]side{}
	for _, name := range []string{"acme", "bolt"} {
		c := s.Tenant(t, name)
		ids, token := put(t, c, harbour)
		sides[name] = side{c, ids, token}
	}
	before := s.Replicas.Status().Replica
	minute := durationpb.New(time.Minute)
	deadline := time.Now().Add(replicaPatience)
	for round := 0; round < 5 || s.Replicas.Status().Replica < before+20; round++ {
		if time.Now().After(deadline) {
			t.Fatalf("few reads run at the replica: %+v", s.Replicas.Status())
		}
		for name, of := range sides {
			seen := func(what string, sources []*ragdv1.Source) {
				t.Helper()
				if len(sources) == 0 {
					t.Errorf("%s: %s finds nothing", what, name)
				}
				for _, source := range sources {
					if !slices.Contains(of.ids, source.DocumentId) {
						t.Errorf("%s: %s sees %v", what, name, source)
					}
				}
			}
			for _, mode := range []string{"vector", "keyword", "hybrid"} {
				res, err := of.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{
					IndexName: "main", QueryText: "How high is the lighthouse of the harbour?", SearchMode: mode, MaxStaleness: minute, WriteToken: of.token,
					Neighbours: 1, Highlight: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				seen(mode, res.Sources)
			}
			for _, options := range []*ragdv1.GraphOptions{nil, {Candidates: 50}} {
				res, err := of.GraphRag(t.Context(), &ragdv1.GraphRagRequest{
					IndexName: "main", QueryText: "How high is the Lighthouse?", MaxStaleness: minute, WriteToken: of.token, GraphOptions: options, Explain: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				seen("walk", res.Sources)
				for _, node := range res.Explain.Nodes {
					if !slices.Contains(of.ids, node.DocumentId) {
						t.Errorf("the walk of %s sees %v", name, node)
					}
				}
			}
		}
	}
	// A token of one tenant tells the other nothing: its read goes to the primary.
	foreign := s.Replicas.Status().Fallbacks[replica.Token]
	if _, err := sides["acme"].VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{
		IndexName: "main", QueryText: "harbour", MaxStaleness: minute, WriteToken: sides["bolt"].token,
	}); err != nil || s.Replicas.Status().Fallbacks[replica.Token] != foreign+1 {
		t.Errorf("error %v, %+v", err, s.Replicas.Status())
	}
}

func TestQueriesAtAReplicaAreAsFreshAsAsked(t *testing.T) {
	t.Parallel()
	s, standby := withReplica(t, service.Config{DatabaseMaxStaleness: time.Minute, Metrics: service.MetricsConfig{Listen: "127.0.0.1:0"}})
	c := s.Tenant(t, "acme")
	_, token := put(t, c, harbour)
	find := func(staleness *durationpb.Duration, token string) int {
		t.Helper()
		res, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{
			IndexName: "main", QueryText: "lighthouse", SearchMode: "keyword", MaxStaleness: staleness, WriteToken: token,
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(res.Sources)
	}
	atReplica := func(run func()) bool {
		before := s.Replicas.Status().Replica
		run()
		return s.Replicas.Status().Replica > before
	}
	for deadline := time.Now().Add(replicaPatience); !atReplica(func() { find(nil, token) }); {
		if time.Now().After(deadline) {
			t.Fatalf("no query runs at the replica: %+v", s.Replicas.Status())
		}
	}
	standby.Pause(t)
	token = tokenOf(t, func(ctx context.Context) error {
		_, err := c.DeleteDocument(ctx, &ragdv1.DeleteDocumentRequest{IndexName: "main", Uri: "Quarry"})
		return err
	})
	if n := find(nil, ""); n != 3 {
		t.Errorf("a query that may be a minute stale finds %d documents, want the 3 of the replica", n)
	}
	if n := find(durationpb.New(0), ""); n != 2 {
		t.Errorf("a query that may not be stale finds %d documents, want 2", n)
	}
	if n := find(nil, token); n != 2 {
		t.Errorf("a query with the token of the deletion finds %d documents, want 2", n)
	}
	header := s.Client(c.Secret, access.WriteTokenHeader, token)
	if res, err := header.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "main", QueryText: "lighthouse", SearchMode: "keyword"}); err != nil || len(res.Sources) != 2 {
		t.Errorf("with the token in a header: %v, %v", res, err)
	}
	// What the replica does not have yet is read at the primary.
	c.Index(t, "new")
	if _, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "new", QueryText: "lighthouse"}); err != nil {
		t.Error(err)
	}
	newcomer := s.Tenant(t, "newcomer")
	newcomer.Index(t, "main")
	if _, err := newcomer.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "main", QueryText: "lighthouse"}); err != nil {
		t.Error(err)
	}
	standby.Kill()
	if n := find(nil, ""); n != 2 {
		t.Errorf("without a replica %d documents are found, want 2", n)
	}
	awaitReplica(t, s, replica.Down)
	shown := scrape(t, s)
	if value(shown, "ragd_reads_total", "at=replica") < 1 || value(shown, "ragd_reads_total", "at=primary") < 1 || value(shown, "ragd_read_fallbacks_total", "reason=behind") < 1 {
		t.Errorf("reads %v, fallbacks %v", shown["ragd_reads_total"], shown["ragd_read_fallbacks_total"])
	}
	if value(shown, "ragd_replica_used", "replica=1") != 0 || shown["ragd_replica_lag_seconds"] != nil {
		t.Errorf("a replica that is down: %v", shown["ragd_replica_lag_seconds"])
	}
	standby.Start(t)
	awaitReplica(t, s, "")
	if value(scrape(t, s), "ragd_replica_used", "replica=1") != 1 || value(scrape(t, s), "ragd_replica_lag_seconds", "replica=1") < 0 {
		t.Error("the metrics of a replica that is used are missing")
	}
	for deadline := time.Now().Add(replicaPatience); !atReplica(func() {
		if n := find(nil, token); n != 2 {
			t.Fatalf("%d documents are found, want 2", n)
		}
	}); {
		if time.Now().After(deadline) {
			t.Fatalf("no query runs at the replica: %+v", s.Replicas.Status())
		}
	}
}

func TestInvalidFreshnessIsRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	for name, req := range map[string]*ragdv1.VectorQueryRequest{
		"negative": {MaxStaleness: durationpb.New(-time.Second)}, "too large": {MaxStaleness: durationpb.New(time.Hour)}, "token": {WriteToken: "x"},
	} {
		req.IndexName, req.QueryText = "main", "harbour"
		_, err := c.VectorQuery(t.Context(), req)
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
	}
	ctx, info := connect.NewClientContext(t.Context())
	if _, err := c.TruncateIndex(ctx, &ragdv1.TruncateIndexRequest{IndexName: "main"}); err != nil || info.ResponseHeader().Get(access.WriteTokenHeader) != "" {
		t.Errorf("error %v; a service without replicas gives the write token %q", err, info.ResponseHeader().Get(access.WriteTokenHeader))
	}
}
