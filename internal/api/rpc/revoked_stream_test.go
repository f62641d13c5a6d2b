package rpc_test

import (
	"context"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// A stream ends when its key is revoked: what comes later is not stored.
func TestARevokedKeyUploadsNothingMoreOnItsOpenStream(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	ctx := t.Context()
	key, err := acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.Client(key.Secret).UploadDocuments(ctx)
	if err != nil {
		t.Fatal(err)
	}
	send := func(uri string) {
		err := stream.Send(&ragdv1.UploadDocumentsRequest{Part: &ragdv1.UploadDocumentsRequest_Document{
			Document: &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text("A text.")},
		}})
		if err != nil {
			t.Log(uri, err) // the stream has ended
		}
	}
	send("before")
	if _, err := acme.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: key.ApiKey.ApiKeyId}); err != nil {
		t.Fatal(err)
	}
	send("after 1")
	send("after 2")
	_, err = stream.CloseAndReceive()
	servicetest.WantCode(t, "the stream of a revoked key", err, connect.CodeUnauthenticated)
	list, err := acme.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: "docs"})
	if err != nil || len(list.Documents) != 0 { // even the first was still waiting for others to be stored with
		t.Errorf("stored = %v, %v", list, err)
	}
}

// A stream on which the caller sends nothing ends, too.
func TestARevokedKeyStopsWatching(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes as long as the interval between checks")
	}
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	key, err := acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{})
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := acme.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{IndexName: "docs", Source: servicetest.Text("A text.")})
	if err != nil {
		t.Fatal(err)
	}
	watch, err := s.Client(key.Secret).WatchJob(ctx, &ragdv1.WatchJobRequest{JobId: waiting.Job.JobId})
	if err != nil {
		t.Fatal(err)
	}
	if !watch.Receive() {
		t.Fatal(watch.Err())
	}
	if _, err := acme.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: key.ApiKey.ApiKeyId}); err != nil {
		t.Fatal(err)
	}
	for watch.Receive() { // until the server ends it
	}
	servicetest.WantCode(t, "the stream of a revoked key", watch.Err(), connect.CodeUnauthenticated)
}
