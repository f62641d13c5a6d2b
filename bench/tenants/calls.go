package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/bench/internal/harness"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
)

const (
	perTenant = 20 // documents of a tenant
	dimension = synthetic.Dimension
	indexName = "notes"
	textWords = 60 // words of a document
)

// calls are clients of the public API, over Connect with binary messages.
type calls struct {
	tenants ragdv1connect.TenantServiceClient
	indexes ragdv1connect.IndexServiceClient
	vectors ragdv1connect.VectorServiceClient
	queries ragdv1connect.QueryServiceClient
	values  [][]float32 // of documents and questions
}

func connectTo(url string) calls {
	client, own := harness.Connections(16), harness.WithKeyOf(keyFrom)
	return calls{
		tenants: ragdv1connect.NewTenantServiceClient(client, url, own),
		indexes: ragdv1connect.NewIndexServiceClient(client, url, own),
		vectors: ragdv1connect.NewVectorServiceClient(client, url, own),
		queries: ragdv1connect.NewQueryServiceClient(client, url, own),
		values:  synthetic.Vectors(2000, 1),
	}
}

type keyOf struct{}

// as returns a context whose calls carry the key.
func as(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOf{}, key)
}

func keyFrom(ctx context.Context) string {
	key, _ := ctx.Value(keyOf{}).(string)
	return key
}

// made is a tenant with the time that it took to create and, with key, index and
// documents, to fill.
type made struct {
	key             string
	created, filled time.Duration
}

// create creates an empty tenant.
func (c calls) create(ctx context.Context, name string) (time.Duration, error) {
	start := time.Now()
	_, err := c.tenants.CreateTenant(as(ctx, daemon.OperatorKey), &ragdv1.CreateTenantRequest{TenantId: name})
	return time.Since(start), err
}

// make creates tenant n with a key, an index and its documents.
func (c calls) make(ctx context.Context, n int) (m made, err error) {
	name := fmt.Sprintf("t%05d", n)
	start := time.Now()
	if m.created, err = c.create(ctx, name); err != nil {
		return m, err
	}
	key, err := c.tenants.CreateApiKey(as(ctx, daemon.OperatorKey), &ragdv1.CreateApiKeyRequest{TenantId: name, Scopes: []string{"admin"}})
	if err != nil {
		return m, err
	}
	m.key = key.GetSecret()
	ctx = as(ctx, m.key)
	if _, err := c.indexes.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: indexName, Dimension: dimension}); err != nil {
		return m, err
	}
	req := &ragdv1.UpsertRequest{IndexName: indexName}
	for d := range perTenant {
		metadata, err := structpb.NewStruct(synthetic.Metadata(d))
		if err != nil {
			return m, err
		}
		req.Entries = append(req.Entries, &ragdv1.Entry{
			Id: fmt.Sprintf("note-%d", d), Values: c.values[(n*perTenant+d)%len(c.values)], Metadata: metadata, Document: text(n*perTenant+d, textWords),
		})
	}
	_, err = c.vectors.Upsert(ctx, req)
	m.filled = time.Since(start)
	return m, err
}

// ask runs one hybrid query of a tenant.
func (c calls) ask(ctx context.Context, key string, n int) error {
	res, err := c.queries.VectorQuery(as(ctx, key), &ragdv1.VectorQueryRequest{
		IndexName: indexName, SearchMode: "hybrid", QueryText: text(n, 3), QueryVector: c.values[n%len(c.values)],
	})
	if err == nil && len(res.GetSources()) == 0 {
		err = fmt.Errorf("question %d found nothing", n)
	}
	return err
}

// text returns made-up text, the same for the same n. Few words are frequent and most are
// rare, as in a language.
func text(n, words int) string {
	r := rand.New(rand.NewPCG(uint64(n), 5))
	frequency := rand.NewZipf(r, 1.2, 4, 20_000)
	out := make([]string, words)
	for i := range out {
		out[i] = fmt.Sprintf("word%d", frequency.Uint64())
	}
	return strings.Join(out, " ")
}

func fields(text string) []string { return strings.Fields(text) }
