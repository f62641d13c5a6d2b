package rpc_test

import (
	"strconv"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// One call accepts as many vectors as fit into a message of 32 MiB; a larger one is
// rejected as a whole.
func TestAnUpsertMayBeAsLargeAsAMessage(t *testing.T) {
	t.Parallel()
	const dimension = 1536
	acme := servicetest.New(t, service.Config{NoWorkers: true}).Tenant(t, "acme")
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: dimension, IndexConfig: &ragdv1.IndexConfig{Type: "flat"}})
	of := func(n int) *ragdv1.UpsertRequest {
		req := &ragdv1.UpsertRequest{IndexName: "v"}
		for i := range n {
			values := make([]float32, dimension)
			values[i%dimension] = 1
			req.Entries = append(req.Entries, &ragdv1.Entry{Id: strconv.Itoa(i), Values: values})
		}
		return req
	}
	const fits, tooMany = 5_400, 5_500 // vectors of 6.2 kB
	_, err := acme.Upsert(t.Context(), of(tooMany))
	servicetest.WantCode(t, "a message over the limit", err, connect.CodeResourceExhausted)
	same(t, "count", count(t, acme, "v"), int32(0))
	same(t, "ids", len(upsert(t, acme, of(fits))), fits)
	same(t, "count", count(t, acme, "v"), int32(fits))
	same(t, "what was written is found", nearest(t, acme, &ragdv1.QueryRequest{IndexName: "v", QueryVector: of(1).Entries[0].Values})[0], "0")
}
