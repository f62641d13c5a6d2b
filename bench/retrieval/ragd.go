package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/bench/internal/harness"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
)

const indexName = "bench"

// ragd is the system under test.
type ragd struct {
	indexes   ragdv1connect.IndexServiceClient
	vectors   ragdv1connect.VectorServiceClient
	documents ragdv1connect.DocumentServiceClient
	mcp       *client.Client
	plain     *plainMCP
	used      func() cpu // by this program, the service and its database
}

// connectTo creates a tenant with an index in the service, and connects to it, over
// Connect with binary messages and over MCP.
func connectTo(ctx context.Context, d *daemon.Daemon) (*ragd, error) {
	key, err := harness.Tenant(ctx, d, "bench")
	if err != nil {
		return nil, err
	}
	connections, url, own := harness.Connections(16), d.URL(), harness.WithKey(key)
	r := &ragd{
		used:      func() cpu { return usedBy(d) },
		indexes:   ragdv1connect.NewIndexServiceClient(connections, url, own),
		vectors:   ragdv1connect.NewVectorServiceClient(connections, url, own),
		documents: ragdv1connect.NewDocumentServiceClient(connections, url, own),
		plain:     newPlainMCP(connections, url+"/mcp", key),
	}
	if _, err := r.indexes.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: indexName, Dimension: synthetic.Dimension, MetadataIndexes: []string{declared}}); err != nil {
		return nil, err
	}
	r.mcp, err = harness.OpenMCP(ctx, d, connections, key)
	return r, err
}

// write upserts the vectors in [from, to).
func (r *ragd) write(ctx context.Context, d data, from, to int) error {
	req := &ragdv1.UpsertRequest{IndexName: indexName}
	for n := from; n < to; n++ {
		metadata, err := structpb.NewStruct(d.metadata(n))
		if err != nil {
			return err
		}
		req.Entries = append(req.Entries, &ragdv1.Entry{Id: entryID(n), Values: d.values[n], Metadata: metadata})
	}
	_, err := r.vectors.Upsert(ctx, req)
	return err
}

// build starts the build of the Postgres index over the embeddings and waits for it.
func (r *ragd) build(ctx context.Context) error {
	started, err := r.indexes.BuildIndex(ctx, &ragdv1.BuildIndexRequest{IndexName: indexName})
	if err != nil {
		return err
	}
	for {
		job, err := r.documents.GetJob(ctx, &ragdv1.GetJobRequest{JobId: started.GetJobId()})
		switch {
		case err != nil:
			return err
		case job.GetStatus() == "succeeded":
			return nil
		case job.GetStatus() == "failed":
			return errors.New(job.GetError())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// awaitBuilt waits until queries use the Postgres index.
func (r *ragd) awaitBuilt(ctx context.Context, question []float32) error {
	const patience = time.Minute
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		res, err := r.vectors.Query(ctx, &ragdv1.QueryRequest{IndexName: indexName, QueryVector: question, Explain: true})
		if err != nil {
			return err
		}
		if res.GetExplain().GetPlan() == "approximate" {
			return nil
		}
	}
	return fmt.Errorf("no question was answered by the Postgres index within %v", patience)
}

// query returns the ids of the nearest vectors with the field set to 1; an empty field
// means all vectors.
func (r *ragd) query(ctx context.Context, question []float32, field string) ([]string, error) {
	req := &ragdv1.QueryRequest{IndexName: indexName, QueryVector: question}
	if field != "" {
		req.Filter = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{field: structpb.NewNumberValue(1)}})
	}
	res, err := r.vectors.Query(ctx, req)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(res.GetResults()))
	for n, result := range res.GetResults() {
		ids[n] = result.GetId()
	}
	return ids, nil
}

// ask calls the tool vector_query.
func (r *ragd) ask(ctx context.Context, question []float32) error {
	var call mcpgo.CallToolRequest
	call.Params.Name = "vector_query"
	call.Params.Arguments = map[string]any{"indexName": indexName, "queryVector": question}
	res, err := r.mcp.CallTool(ctx, call)
	if err == nil && res.IsError {
		err = fmt.Errorf("vector_query: %v", res.Content)
	}
	return err
}
