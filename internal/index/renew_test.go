package index_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// TestTermsOfAnOldIndexAreRenewed makes an index as it was before there was an analyzer. The renewal of its terms is
// held back in the middle and its session ended there, while documents are uploaded and deleted and questions asked.
func TestTermsOfAnOldIndexAreRenewed(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", TextLanguage: "english", Chunking: &ragdv1.Chunking{Strategy: "sentence", MaxSize: new(int32(60)), Overlap: new(int32(0))}})
	must(t, err)
	upload := func(uri, text string) *ragdv1.Document {
		return c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, ContentType: "text/markdown", Source: servicetest.Text(text)})
	}
	var long strings.Builder
	long.WriteString("# The harbour's gates\n\n")
	for n := range 320 {
		fmt.Fprintf(&long, "Gate number DEC-0%d opens for the ships of [lane](https://example.com/%d).\n\n", n, n)
	}
	upload("long", long.String())
	second := upload("second", "# Error DEC-0045\n\nIt closes the gates.")
	gone := upload("gone", "A gate that is gone.")
	_, err = c.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "docs", Entries: []*ragdv1.Entry{
		{Id: "zz", Values: make([]float32, dimensionOf(t, c)), Metadata: servicetest.Object(t, map[string]any{"text": "A gate of its own, DEC-0046"})},
	}})
	must(t, err)
	const terms = `SELECT chunk_id || ' ' || terms::text || ' ' || term_weights::text FROM tenant_acme.chunk_1 WHERE document_id IS NULL OR document_id <> '%s' ORDER BY 1`
	wanted := texts(t, s, fmt.Sprintf(terms, gone.DocumentId))
	exec(t, s, `CREATE TRIGGER weigh_terms BEFORE UPDATE OF metadata ON tenant_acme.chunk_1 FOR EACH ROW EXECUTE FUNCTION ragd_shared.weigh_terms('english')`)
	exec(t, s, `UPDATE tenant_acme.chunk_1 SET terms = NULL, term_weights = NULL, metadata = metadata`)
	exec(t, s, `UPDATE tenant_acme.indexes SET text_analysis = 0`)
	if slices.Equal(wanted, texts(t, s, fmt.Sprintf(terms, gone.DocumentId))) {
		t.Fatal("the terms of PostgreSQL's parser are those of the analyzer")
	}

	// The ids of documents grow, so the one that is locked is in the second batch.
	lock, err := s.Pool.Begin(t.Context())
	must(t, err)
	defer lock.Rollback(t.Context())
	_, err = lock.Exec(t.Context(), `SELECT FROM tenant_acme.documents WHERE document_id = $1 FOR UPDATE`, second.DocumentId)
	must(t, err)
	fresh := upload("fresh", "DEC-0047 opens a gate.")
	wait.For(t, "the renewal to be in the middle", func() bool {
		return len(names(t, s, "acme", "^renewal_1$")) == 1 && waiting(t, s) != 0
	})
	for question, want := range map[string]int{"gates open": 4, "DEC-0045": 1, `"DEC-0047"`: 1} {
		found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: question, SearchMode: "keyword", MaxPerDocument: 1})
		must(t, err)
		if len(found.Sources) < want {
			t.Errorf("%s: %d sources while the terms are renewed, want %d at least", question, len(found.Sources), want)
		}
	}
	exec(t, s, fmt.Sprintf(`SELECT pg_terminate_backend(%d)`, waiting(t, s)))
	_, err = c.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{DocumentId: gone.DocumentId})
	must(t, err)
	must(t, lock.Rollback(t.Context()))
	renewed := func() bool {
		return texts(t, s, `SELECT text_analysis::text FROM tenant_acme.indexes`)[0] == strconv.Itoa(analyzer.Version) && len(names(t, s, "acme", "^renewal_1$")) == 0
	}
	wait.For(t, "the end of the renewal", renewed)
	before := texts(t, s, fmt.Sprintf(terms, fresh.DocumentId))
	if !slices.Equal(before, wanted) {
		t.Errorf("%d chunks, want %d, with the terms as they were made when the documents were ingested", len(before), len(wanted))
	}

	// Once more, started by a question to an instance that has just started: no row is written.
	rows := texts(t, s, `SELECT ctid::text FROM tenant_acme.chunk_1 ORDER BY 1`)
	exec(t, s, `UPDATE tenant_acme.indexes SET text_analysis = 0`)
	other := servicetest.New(t, service.Config{AdminPool: s.Pool})
	_, err = other.Client(c.Secret).VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "gates", SearchMode: "keyword"})
	must(t, err)
	wait.For(t, "the end of the second renewal", renewed)
	if now := texts(t, s, `SELECT ctid::text FROM tenant_acme.chunk_1 ORDER BY 1`); !slices.Equal(now, rows) {
		t.Error("a renewal of current terms has written chunks")
	}
}

// texts returns the values of a query for one column.
func texts(t *testing.T, s *servicetest.Service, sql string) []string {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), sql)
	must(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return found
}

// waiting returns the number of a connection that waits for the lock of a document; 0 if none does.
func waiting(t *testing.T, s *servicetest.Service) (pid int) {
	t.Helper()
	must(t, s.Pool.QueryRow(t.Context(), `
		SELECT coalesce(max(pid), 0) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FOR SHARE OF d%'`).Scan(&pid))
	return pid
}

func dimensionOf(t *testing.T, c servicetest.Client) int32 {
	t.Helper()
	i, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
	must(t, err)
	return i.Dimension
}
