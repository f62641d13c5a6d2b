package service_test

import (
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/migrations"
)

// expanding is what a later release may do to a tenant's schema while this one serves it.
const expanding = `
	ALTER TABLE documents ADD COLUMN later text, ADD COLUMN counted int NOT NULL DEFAULT 0;
	ALTER TABLE indexes ADD COLUMN later text;
	ALTER TABLE jobs ADD COLUMN later jsonb NOT NULL DEFAULT '{}';
	CREATE TABLE later (id bigint PRIMARY KEY)`

// without returns the tenants' migrations without the newest one, and with another file.
func without(t *testing.T, newest bool, more string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	last := migrations.Newest(migrations.Tenant())
	names, err := fs.Glob(migrations.Tenant(), "*.up.sql")
	must(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(migrations.Tenant(), name)
		must(t, err)
		if newest || name[:6] != fmt.Sprintf("%06d", last) {
			files[name] = &fstest.MapFile{Data: text}
		}
	}
	if more != "" {
		files[fmt.Sprintf("%06d_later.up.sql", last+1)] = &fstest.MapFile{Data: []byte(more)}
	}
	return files
}

// Expand, migrate, contract: instances of two releases serve one database during an upgrade,
// so this release serves tenants that are one migration behind or ahead of its own.
func TestTenantsOneMigrationAwayAreServed(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	stamp := time.Now().UnixNano() & 0xffffffff // roles belong to the whole server, which tests share
	sets := map[string]fs.FS{"ahead": without(t, true, expanding)}
	if migrations.Newest(migrations.Tenant()) > 1 {
		sets["behind"] = without(t, false, "")
	}
	for name, files := range sets {
		t.Run(name, func(t *testing.T) {
			other, err := provision.New(t.Context(), s.ServicePool, provision.Config{Admin: s.Pool, Migrations: files})
			must(t, err)
			operator := access.NewContext(t.Context(), &access.Request{Principal: access.Principal{Scopes: []access.Scope{access.Operator}}})
			id := fmt.Sprintf("%s-%x", name, stamp)
			_, err = other.Create(operator, id, "", nil)
			must(t, err)
			write(t, s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: id, Scopes: []string{"admin"}})))
			_, err = s.Tenants.Get(operator, id)
			must(t, err)
			read(t, s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: id, Scopes: []string{"admin"}})))
		})
	}
}

// write makes an index with documents and vectors.
func write(t *testing.T, c servicetest.Client) {
	t.Helper()
	c.Index(t, "docs")
	for _, name := range []string{"a", "b"} {
		c.Upload(t, upload(name))
	}
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "vectors", Dimension: 2})
	must(t, err)
	_, err = c.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "vectors", Entries: []*ragdv1.Entry{{Id: "one", Values: []float32{1, 2}, Document: "a valve"}}})
	must(t, err)
}

// read calls every RPC that reads a tenant's data.
func read(t *testing.T, c servicetest.Client) {
	t.Helper()
	ctx := t.Context()
	documents, err := c.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: "docs"})
	must(t, err)
	if len(documents.Documents) != 2 {
		t.Fatalf("%d documents are listed", len(documents.Documents))
	}
	document := documents.Documents[0].DocumentId
	jobs, err := c.ListJobs(ctx, &ragdv1.ListJobsRequest{})
	must(t, err)
	if len(jobs.Jobs) == 0 {
		t.Fatal("no jobs are listed")
	}
	for name, call := range map[string]func() error{
		"GetDocument": func() error {
			_, err := c.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs", DocumentId: document})
			return err
		},
		"ListChunks": func() error {
			_, err := c.ListChunks(ctx, &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: document})
			return err
		},
		"GetJob": func() error {
			_, err := c.GetJob(ctx, &ragdv1.GetJobRequest{JobId: jobs.Jobs[0].JobId})
			return err
		},
		"DescribeIndex": func() error {
			_, err := c.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: "docs"})
			return err
		},
		"ListSynonyms": func() error {
			_, err := c.ListSynonyms(ctx, &ragdv1.ListSynonymsRequest{IndexName: "docs"})
			return err
		},
		"ListCurations": func() error {
			_, err := c.ListCurations(ctx, &ragdv1.ListCurationsRequest{IndexName: "docs"})
			return err
		},
		"Suggest": func() error {
			_, err := c.Suggest(ctx, &ragdv1.SuggestRequest{IndexName: "docs", Prefix: "val"})
			return err
		},
		"ListIndexes": func() error {
			_, err := c.ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
			return err
		},
		"Query": func() error {
			_, err := c.Query(ctx, &ragdv1.QueryRequest{IndexName: "vectors", QueryVector: []float32{1, 1}})
			return err
		},
		"GraphRag": func() error {
			_, err := c.GraphRag(ctx, &ragdv1.GraphRagRequest{IndexName: "docs", QueryText: "valve"})
			return err
		},
		"ListTools": func() error {
			_, err := c.ListTools(ctx, &ragdv1.ListToolsRequest{})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, mode := range []string{"vector", "keyword", "hybrid"} {
		res, err := c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "docs", SearchMode: mode, QueryText: "valve", Neighbours: 1, Explain: true})
		if err != nil || len(res.Sources) == 0 {
			t.Errorf("VectorQuery in mode %s: %d sources, %v", mode, len(res.GetSources()), err)
		}
	}
}
