package rpc_test

import (
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

const idempotencyKey = "Idempotency-Key"

// A repeat with the same key gets the same answer in every protocol and from every instance, and
// nothing is made twice.
func TestACallWithAKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	config := service.Config{NoWorkers: true, MasterKeys: servicetest.Keys(t)}
	s := servicetest.New(t, config)
	config.AdminPool = s.Pool
	second := servicetest.New(t, config)
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "docs")
	bolt.Index(t, "docs")

	var first *ragdv1.UploadDocumentResponse
	upload := &ragdv1.UploadDocumentRequest{IndexName: "docs", Source: servicetest.Text("A harbour."), Metadata: servicetest.Object(t, map[string]any{"b": 1, "a": []any{"x"}})}
	for name, options := range map[string][]connect.ClientOption{"proto": nil, "json": {connect.WithProtoJSON()}, "grpc": {connect.WithGRPC()}, "grpc-web": {connect.WithGRPCWeb()}} {
		for _, instance := range []*servicetest.Service{s, second} {
			ctx, info := connect.NewClientContext(t.Context())
			info.RequestHeader().Set("Authorization", "Bearer "+acme.Secret)
			info.RequestHeader().Set(idempotencyKey, "upload-1")
			res, err := ragdv1connect.NewDocumentServiceClient(h2c, instance.URL, options...).UploadDocument(ctx, upload)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if replayed := info.ResponseHeader().Get("Idempotent-Replayed"); (replayed == "true") != (first != nil) {
				t.Errorf("%s: the header of replays is %q", name, replayed)
			}
			if first == nil {
				first = res
			}
			if !proto.Equal(first, res) {
				t.Errorf("%s: %v, want %v", name, res, first)
			}
		}
	}
	list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
	if err != nil || len(list.Documents) != 1 {
		t.Errorf("%v %v, want one document", list, err)
	}

	// Others have keys of their own: another tenant, another key of this one.
	writer := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme"})
	for name, c := range map[string]servicetest.Client{
		"another tenant": s.Client(bolt.Secret, idempotencyKey, "upload-1"),
		"another key":    s.Client(writer, idempotencyKey, "upload-1"),
		"a bound key":    s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Indexes: &ragdv1.AllowedNames{Names: []string{"docs"}}}), idempotencyKey, "upload-1"),
	} {
		res, err := c.UploadDocument(t.Context(), upload)
		if err != nil || res.Document.DocumentId == first.Document.DocumentId {
			t.Errorf("%s: %v %v", name, res, err)
		}
	}
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}), idempotencyKey, "upload-1")
	_, err = reader.UploadDocument(t.Context(), upload)
	servicetest.WantCode(t, "a key that may only read", err, connect.CodePermissionDenied)

	again := s.Client(acme.Secret, idempotencyKey, "upload-1")
	_, err = again.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: "docs", Source: servicetest.Text("A mill.")})
	wantViolated(t, err, idempotencyKey)
	_, err = again.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", DocumentId: first.Document.DocumentId})
	wantViolated(t, err, idempotencyKey)
	if _, err := again.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"}); err != nil {
		t.Errorf("a call that changes nothing: %v", err)
	}
	_, err = s.Client(acme.Secret, idempotencyKey, strings.Repeat("x", 256)).CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "more"})
	wantViolated(t, err, idempotencyKey)
	stream, err := again.AskAgentStream(t.Context(), &ragdv1.AskAgentStreamRequest{})
	if err == nil {
		stream.Receive()
		err = stream.Err()
	}
	wantViolated(t, err, idempotencyKey)

	// An error of the caller is kept, also when its reason is gone.
	failing := s.Client(acme.Secret, idempotencyKey, "create-1")
	_, err = failing.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", Dimension: 7})
	servicetest.WantCode(t, "an index that exists", err, connect.CodeAlreadyExists)
	if _, err := acme.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "docs"}); err != nil {
		t.Fatal(err)
	}
	_, err = failing.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", Dimension: 7})
	servicetest.WantCode(t, "the repeat", err, connect.CodeAlreadyExists)
}

// wantViolated wants an error about a field.
func wantViolated(t *testing.T, err error, field string) {
	t.Helper()
	if connect.CodeOf(err) != connect.CodeInvalidArgument || fieldOf(err) != field {
		t.Errorf("%v, want an error about %s", err, field)
	}
}

// A new key is shown again to those who repeat its creation, and to nobody else.
func TestARepeatShowsTheSameNewKey(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: servicetest.Keys(t)})
	operator := s.Operator(idempotencyKey, "tenant-1")
	for range 2 { // the second would be an error
		if _, err := operator.CreateTenant(t.Context(), &ragdv1.CreateTenantRequest{TenantId: "acme"}); err != nil {
			t.Fatal(err)
		}
	}
	secrets := map[string]bool{}
	for range 2 {
		res, err := s.Operator(idempotencyKey, "key-1").CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}})
		if err != nil {
			t.Fatal(err)
		}
		secrets[res.Secret] = true
	}
	if len(secrets) != 1 {
		t.Errorf("%d keys were shown", len(secrets))
	}
	for secret := range secrets {
		var found int
		if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.idempotent_calls AS c WHERE strpos(c::text, encode($1, 'hex')) > 0`, []byte(secret)).Scan(&found); err != nil || found > 0 {
			t.Errorf("%d rows have the secret as it is, %v", found, err)
		}
		keys, err := s.Client(secret).ListApiKeys(t.Context(), &ragdv1.ListApiKeysRequest{TenantId: "acme"})
		if err != nil || len(keys.ApiKeys) != 1 {
			t.Errorf("%v %v, want one key", keys, err)
		}
	}
}

// What a call adds to another by having a key is two statements.
func BenchmarkIdempotencyKey(b *testing.B) {
	s := servicetest.New(b, service.Config{NoWorkers: true})
	acme := s.Tenant(b, "acme")
	acme.Index(b, "docs")
	for _, name := range []string{"without", "with"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				ctx, info := connect.NewClientContext(b.Context())
				if name == "with" {
					info.RequestHeader().Set(idempotencyKey, time.Now().Format(time.RFC3339Nano))
				}
				_, err := acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "docs"}) // which exists
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
