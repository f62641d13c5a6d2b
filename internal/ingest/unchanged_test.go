package ingest_test

import (
	"net/http"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func unchanged(t *testing.T, c servicetest.Client, req *ragdv1.FindUnchangedRequest) []int32 {
	t.Helper()
	req.IndexName = "docs"
	res, err := c.FindUnchanged(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res.Unchanged
}

func TestDocumentsAreUnchangedWithTheSameFingerprintAndChunking(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.put(t, f.Client, "same", "1", nil)
	f.put(t, f.Client, "other", "1", nil)
	f.put(t, f.Client, "unnamed", "", nil)
	f.provider.Set(modelserver.Fault{Status: http.StatusBadRequest})
	f.put(t, f.Client, "failed", "1", nil)
	f.provider.Set(modelserver.Fault{})
	given := source("", "failed", "1", "new", "1", "same", "1", "other", "2", "unnamed", "", "same", "1").Documents
	size := int32(300)
	smaller := &ragdv1.Chunking{Strategy: "recursive", MaxSize: &size}
	for name, tc := range map[string]struct {
		req  *ragdv1.FindUnchangedRequest
		want []int32
	}{
		"the same":            {&ragdv1.FindUnchangedRequest{Documents: given}, []int32{2, 5}},
		"none":                {&ragdv1.FindUnchangedRequest{}, nil},
		"in a namespace":      {&ragdv1.FindUnchangedRequest{Documents: given, Namespace: "eu"}, nil},
		"with other chunking": {&ragdv1.FindUnchangedRequest{Documents: given, Chunking: smaller}, nil},
	} {
		if got := unchanged(t, f.Client, tc.req); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	if _, err := f.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "docs", Chunking: smaller}); err != nil {
		t.Fatal(err)
	}
	if got := unchanged(t, f.Client, &ragdv1.FindUnchangedRequest{Documents: given}); len(got) > 0 {
		t.Errorf("with other chunking of the index: %v", got)
	}
}

// A credential with a mandatory filter learns only of visible documents, another tenant only
// of its own, and a read-only credential of none.
func TestFindUnchangedStaysWithinTheCredential(t *testing.T) {
	t.Parallel()
	f := setup(t)
	team := func(name string) *structpb.Struct {
		return &structpb.Struct{Fields: map[string]*structpb.Value{"team": structpb.NewStringValue(name)}}
	}
	f.put(t, f.Client, "red", "1", team("red"))
	f.put(t, f.Client, "blue", "1", team("blue"))
	bolt := f.service.Tenant(t, "bolt")
	bolt.Index(t, "docs")
	f.put(t, bolt, "blue", "2", nil)
	given := source("", "red", "1", "blue", "1").Documents
	key := &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: team("red")}
	red := f.service.Client(f.service.Key(t, key))
	if got := unchanged(t, red, &ragdv1.FindUnchangedRequest{Documents: given}); !slices.Equal(got, []int32{0}) {
		t.Errorf("a filtered credential learns of %v", got)
	}
	if got := unchanged(t, bolt, &ragdv1.FindUnchangedRequest{Documents: given}); len(got) > 0 {
		t.Errorf("another tenant learns of %v", got)
	}
	reader := f.service.Client(f.service.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	_, err := reader.FindUnchanged(t.Context(), &ragdv1.FindUnchangedRequest{IndexName: "docs", Documents: given})
	servicetest.WantCode(t, "a reader", err, connect.CodePermissionDenied)
}
