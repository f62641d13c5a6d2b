package ingest_test

import (
	"fmt"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// source returns a request for documents given as alternating uris and fingerprints.
func source(prefix string, documents ...string) *ragdv1.SyncSourceRequest {
	req := &ragdv1.SyncSourceRequest{IndexName: "docs", UriPrefix: prefix}
	for i := 0; i < len(documents); i += 2 {
		req.Documents = append(req.Documents, &ragdv1.SourceDocument{Uri: documents[i], Fingerprint: documents[i+1]})
	}
	return req
}

func (f fixture) put(t *testing.T, c servicetest.Client, uri, fingerprint string, metadata *structpb.Struct) {
	t.Helper()
	req := upload(uri, "The harbour of "+uri)
	req.Fingerprint, req.Metadata = fingerprint, metadata
	c.Upload(t, req)
}

func TestSyncDeletesDocumentsThatTheSourceNoLongerHas(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for uri, fingerprint := range map[string]string{"h/same": "1", "h/changed": "1", "h/unnamed": "", "h/gone": "1", "elsewhere": "1", "h": "1"} {
		f.put(t, f.Client, uri, fingerprint, nil)
	}
	req := source("h/", "h/same", "1", "h/changed", "2", "h/unnamed", "", "h/new", "1")
	req.DryRun = true
	want := &ragdv1.SyncSourceResponse{
		NewUris: []string{"h/new"}, ChangedUris: []string{"h/changed", "h/unnamed"}, UnchangedCount: 1,
		GoneUris: []string{"h/gone"}, GoneCount: 1,
	}
	for _, dry := range []bool{true, false} {
		req.DryRun = dry
		got, err := f.SyncSource(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		_, err = f.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: "h/gone"})
		if (err == nil) != dry {
			t.Errorf("the document that is gone, after a dry run %v: %v", dry, err)
		}
	}
	if got := f.found(t, "harbour"); len(got) != 5 {
		t.Errorf("found %q", got)
	}
	if got := f.counts(t); got != [4]int32{5, 5, 0, 0} {
		t.Errorf("chunks, ready, pending, failed = %v", got)
	}
	// The same bytes with another fingerprint: only the fingerprint is stored.
	f.put(t, f.Client, "h/unnamed", "7", nil)
	got, err := f.SyncSource(t.Context(), source("h/", "h/same", "1", "h/unnamed", "7", "h/changed", "1"))
	if err != nil || got.UnchangedCount != 3 || got.GoneCount != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestSyncRefusesLikelyMistakes(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.put(t, f.Client, "h/a", "1", nil)
	both := source("h/", "h/a", "1")
	both.WholeIndex = true
	for name, req := range map[string]*ragdv1.SyncSourceRequest{
		"no prefix":         source("", "h/a", "1"),
		"a prefix and all":  both,
		"no documents":      source("h/"),
		"another's uri":     source("h/", "i/a", "1"),
		"the same uri":      source("h/", "h/a", "1", "h/a", "2"),
		"a long identifier": source("h/", "h/a", fmt.Sprintf("%200d", 1)),
	} {
		_, err := f.SyncSource(t.Context(), req)
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
	}
	if got := f.counts(t); got != [4]int32{1, 1, 0, 0} {
		t.Errorf("chunks, ready, pending, failed = %v", got)
	}
	empty := &ragdv1.SyncSourceRequest{IndexName: "docs", WholeIndex: true, AllowEmpty: true}
	if got, err := f.SyncSource(t.Context(), empty); err != nil || got.GoneCount != 1 {
		t.Errorf("an empty source = %v, %v", got, err)
	}
}

// A credential with a mandatory filter syncs only visible documents, another tenant only
// its own documents, and a read-only credential none.
func TestSyncStaysWithinTheCredential(t *testing.T) {
	t.Parallel()
	f := setup(t)
	team := func(name string) *structpb.Struct {
		s, err := structpb.NewStruct(map[string]any{"team": name})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	f.put(t, f.Client, "h/red", "1", team("red"))
	f.put(t, f.Client, "h/blue", "1", team("blue"))
	bolt := f.service.Tenant(t, "bolt")
	bolt.Index(t, "docs")
	f.put(t, bolt, "h/red", "1", nil)
	key := &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: team("red")}
	red := f.service.Client(f.service.Key(t, key))
	all := source("h/")
	all.AllowEmpty = true
	got, err := red.SyncSource(t.Context(), all)
	if err != nil || got.GoneCount != 1 || got.GoneUris[0] != "h/red" {
		t.Errorf("a filtered credential's sync = %v, %v", got, err)
	}
	f.document(t, "h/blue")
	if d, err := bolt.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: "h/red"}); err != nil || d.Status != "ready" {
		t.Errorf("the other tenant's document = %v, %v", d, err)
	}
	reader := f.service.Client(f.service.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	_, err = reader.SyncSource(t.Context(), source("h/", "h/blue", "1"))
	servicetest.WantCode(t, "a reader", err, connect.CodePermissionDenied)
}
