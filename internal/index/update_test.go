package index_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

func fields(names ...string) *ragdv1.MetadataIndexes { return &ragdv1.MetadataIndexes{Fields: names} }

func TestConcurrentUpdatesOfAnIndexWaitForEachOther(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "updates")
	c.Index(t, "docs")
	var calls sync.WaitGroup
	update := func(req *ragdv1.UpdateIndexRequest) {
		calls.Go(func() {
			req.IndexName = "docs"
			if _, err := c.UpdateIndex(t.Context(), req); err != nil {
				t.Error(err)
			}
		})
	}
	for n := range 16 {
		update(&ragdv1.UpdateIndexRequest{MetadataIndexes: fields("shared", fmt.Sprint("a", n%4), fmt.Sprint("b", n%3))})
	}
	update(&ragdv1.UpdateIndexRequest{Chunking: &ragdv1.Chunking{Strategy: "recursive", MaxSize: proto.Int32(123)}})
	update(&ragdv1.UpdateIndexRequest{Graph: &ragdv1.GraphSettings{Off: true}})
	update(&ragdv1.UpdateIndexRequest{IndexConfig: &ragdv1.IndexConfig{Type: "flat"}})
	calls.Wait()
	i, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
	must(t, err)
	if i.Chunking.GetMaxSize() != 123 || !i.Graph.GetSettings().GetOff() || i.IndexConfig.GetType() != "flat" || len(i.MetadataIndexes) != 3 {
		t.Errorf("a change was lost: %v", i)
	}
	// Creating another index with the same settings shows what there should be.
	_, err = c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "same", MetadataIndexes: i.MetadataIndexes})
	must(t, err)
	if got, want := names(t, s, "updates", `^metadata_1_`), names(t, s, "updates", `^metadata_2_`); len(got) != 9 || !slices.EqualFunc(got, want, sameField) {
		t.Errorf("after concurrent updates the Postgres indexes are\n%v, want\n%v", got, want)
	}
	_, err = c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "docs", MetadataIndexes: fields()})
	must(t, err)
	if got := names(t, s, "updates", `^metadata_1_`); len(got) > 0 {
		t.Errorf("%v are left", got)
	}
}

// sameField reports whether the Postgres indexes of two indexes with one-digit ids are on
// the same field.
func sameField(a, b string) bool { return a[len("metadata_1"):] == b[len("metadata_2"):] }

func TestAnUpdateWhoseConnectionBreaksCanBeRepeated(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "broken")
	c.Index(t, "docs")
	req := &ragdv1.UpdateIndexRequest{
		IndexName: "docs", MetadataIndexes: fields("a", "b"), Graph: &ragdv1.GraphSettings{Off: true},
	}
	exec(t, s, `
		CREATE FUNCTION public.terminate() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
		BEGIN
			PERFORM pg_terminate_backend(pg_backend_pid());
		END $$;
		CREATE EVENT TRIGGER terminate ON ddl_command_end WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION public.terminate()`)
	if _, err := c.UpdateIndex(t.Context(), req); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Fatalf("with a connection that breaks: %v", err)
	}
	i, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
	must(t, err)
	if left := names(t, s, "broken", `^metadata_`); len(left) > 0 || len(i.MetadataIndexes) > 0 || i.Graph.GetSettings().GetOff() {
		t.Errorf("the interrupted update left %v and changed the settings to %v", left, i)
	}
	exec(t, s, `DROP EVENT TRIGGER terminate`)
	_, err = c.UpdateIndex(t.Context(), req)
	must(t, err)
	if got := names(t, s, "broken", `^metadata_`); len(got) != 6 {
		t.Errorf("after the repeated update the Postgres indexes are %v", got)
	}
}

func TestPostgresIndexesThatDoNotMatchTheSettingsAreRepaired(t *testing.T) {
	t.Parallel()
	for by, repair := range map[string]func(c servicetest.Client) error{
		"by the next update": func(c servicetest.Client) error {
			_, err := c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "docs", MetadataIndexes: fields("a", "b", "c")})
			return err
		},
		"by maintenance": func(c servicetest.Client) error {
			_, err := c.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "docs"})
			return err
		},
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			s := servicetest.New(t, service.Config{})
			c, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
			for _, client := range []servicetest.Client{c, other} {
				_, err := client.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", MetadataIndexes: []string{"a", "b", "c"}})
				must(t, err)
			}
			want := names(t, s, "acme", `^metadata_`)
			exec(t, s, `DROP INDEX tenant_acme.`+want[0])
			exec(t, s, `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'tenant_acme.`+want[1]+`'::regclass`)
			exec(t, s, `CREATE INDEX metadata_1_text_0123456789abcdef ON tenant_acme.chunk_1 (title)`)
			exec(t, s, `CREATE INDEX embedding_1_new ON tenant_acme.chunk_1 (title)`)
			must(t, repair(c))
			wait.For(t, "repair", func() bool {
				return slices.Equal(names(t, s, "acme", `^metadata_`), want)
			})
			if by == "by maintenance" {
				wait.For(t, "removal of an unfinished build", func() bool { return len(names(t, s, "acme", `^embedding_1_new`)) == 0 })
			}
			if got := names(t, s, "other", `^metadata_`); !slices.Equal(got, want) {
				t.Errorf("another tenant's Postgres indexes became %v", got)
			}
		})
	}
}

// A cancelled change of the embedding model must not leave a table with some of the
// chunks, which the next change would take for complete.
func TestACancelledChangeOfTheModelLeavesNoTable(t *testing.T) {
	t.Parallel()
	providers := service.Providers{OpenAI: endpoint.Config{BaseURL: modelserver.New(t).URL + "/v1", APIKey: modelserver.Key}}
	s := servicetest.New(t, service.Config{NoWorkers: true, Providers: providers})
	c := s.Tenant(t, "acme")
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/some-model"})
	must(t, err)
	i, err := c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "docs", EmbeddingModel: newModel, Dimension: newDimension})
	must(t, err)
	tx, err := s.Pool.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM tenant_acme.indexes FOR NO KEY UPDATE`)
	must(t, err)
	servicetest.New(t, service.Config{AdminPool: s.Pool, Providers: providers}) // its worker waits for the row
	wait.For(t, "the worker's attempt", func() bool { return pgtest.Waiting(t, s.Pool) > 0 })
	_, err = tx.Exec(t.Context(), `
		UPDATE tenant_acme.indexes SET reembed_job_id = NULL, next_model = NULL, next_dimension = NULL, next_vector_type = NULL`)
	must(t, err)
	_, err = tx.Exec(t.Context(), `UPDATE tenant_acme.jobs SET status = 'cancelled' WHERE job_id = $1`, i.ReembedJobId)
	must(t, err)
	must(t, tx.Commit(t.Context()))
	wait.For(t, "the end of the attempt", func() bool {
		var ended bool
		must(t, s.Pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM ragd.river_job WHERE kind = 'reembed' AND finalized_at IS NOT NULL)`).Scan(&ended))
		return ended
	})
	if left := names(t, s, "acme", `^chunk_1_1$`); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
