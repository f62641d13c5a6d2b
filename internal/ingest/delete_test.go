package ingest_test

import (
	"fmt"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/servicetest"
)

func object(t *testing.T, fields map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// More documents than one transaction deletes, which wait to be processed.
func TestDeleteDocumentsThatAFilterSelects(t *testing.T) {
	t.Parallel()
	const red = 510
	s := servicetest.New(t, servicetest.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "docs")
	bolt.Index(t, "docs")
	var messages []*ragdv1.UploadDocumentsRequest
	for i := range red + 1 {
		req := upload(fmt.Sprint(i), "A plan.")
		req.Metadata = object(t, map[string]any{"team": "red", "number": i})
		if i == red {
			req.Metadata = object(t, map[string]any{"team": "blue"})
		}
		messages = append(messages, begin(req))
	}
	results, err := stream(t, acme, messages...)
	if err != nil {
		t.Fatal(err)
	}
	deleted := func(c servicetest.Client, index string, filter map[string]any) (int32, error) {
		res, err := c.DeleteDocuments(t.Context(), &ragdv1.DeleteDocumentsRequest{IndexName: index, Filter: object(t, filter)})
		return res.GetDeletedCount(), err
	}
	team := map[string]any{"team": "red"}
	_, err = deleted(acme, "docs", map[string]any{})
	wantCode(t, "an empty filter", err, connect.CodeInvalidArgument)
	_, err = deleted(acme, "nope", team)
	wantCode(t, "an unknown index", err, connect.CodeNotFound)
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	_, err = deleted(reader, "docs", team)
	wantCode(t, "a reader", err, connect.CodePermissionDenied)
	if n, err := deleted(bolt, "docs", team); n != 0 || err != nil {
		t.Errorf("another tenant deletes %d, %v", n, err)
	}
	bounded := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: object(t, map[string]any{"number": 7}),
	}))
	if n, err := deleted(bounded, "docs", team); n != 1 || err != nil {
		t.Errorf("a credential that sees one document deletes %d, %v", n, err)
	}
	if n, err := deleted(acme, "docs", team); n != red-1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
	if err != nil || len(list.Documents) != 1 || list.Documents[0].Uri != fmt.Sprint(red) {
		t.Errorf("left are %v, %v", list.GetDocuments(), err)
	}
	job, err := acme.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: results[0].Job.JobId})
	if err != nil || job.Status != "cancelled" {
		t.Errorf("the job of a deleted document = %v, %v", job, err)
	}
}
