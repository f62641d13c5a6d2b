package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// exported returns the chunks of an export, of so many parts at most, and the token after the last part.
func exported(t *testing.T, c servicetest.Client, req *ragdv1.ExportChunksRequest, parts int) (chunks []*ragdv1.ExportedChunk, next string, err error) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	stream, err := c.ExportChunks(ctx, req)
	if err != nil {
		return nil, "", err
	}
	for n := 0; n < parts && stream.Receive(); n++ {
		chunks, next = append(chunks, stream.Msg().GetChunks()...), stream.Msg().GetNextPageToken()
	}
	err = stream.Err()
	leave()
	return chunks, next, errors.Join(err, func() error { _ = stream.Close(); return nil }())
}

func exportedIDs(chunks []*ragdv1.ExportedChunk) (ids []string) {
	for _, c := range chunks {
		ids = append(ids, c.GetNamespace()+"/"+c.GetChunkId())
	}
	return ids
}

// Two keys export what they may search, an export that broke off goes on where it was, and nobody else gets anything.
func TestExportChunks(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	const all = 1203
	filler := strings.Repeat("mast and rope and sail ", 90)
	for _, c := range []servicetest.Client{acme, bolt} {
		need(t)(c.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "docs", Dimension: 3}))
	}
	acme.Index(t, "texts")
	for _, namespace := range []string{"", "other"} {
		var entries []*ragdv1.Entry
		for n := range all {
			entries = append(entries, &ragdv1.Entry{
				Id: fmt.Sprintf("v%04d", n), Values: []float32{1, float32(n), 0.5}, Document: filler,
				Metadata: servicetest.Object(t, map[string]any{"team": []any{"red", "blue", "green"}[n%3], "n": n}),
			})
		}
		for batch := range slices.Chunk(entries, 401) {
			need(t)(acme.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "docs", Namespace: namespace, Entries: batch}))
		}
	}
	whole, next, err := exported(t, acme, &ragdv1.ExportChunksRequest{IndexName: "docs"}, 1000)
	if err != nil || len(whole) != all || next != "" || !slices.IsSorted(exportedIDs(whole)) || len(slices.Compact(exportedIDs(whole))) != all {
		t.Fatalf("exported %d chunks, then %q, %v", len(whole), next, err)
	}
	if one := whole[7]; one.GetText() != filler || one.GetMetadata().GetFields()["n"].GetNumberValue() != 7 || len(one.GetVector()) != 0 {
		t.Errorf("exported %v", one)
	}
	// From wherever it broke off, the rest is the same.
	both := &ragdv1.ExportChunksRequest{IndexName: "docs", Namespaces: []string{"other", "default"}, Fields: []string{"vector", "text"}}
	want, _, err := exported(t, acme, both, 1000)
	if err != nil || len(want) != 2*all || want[0].GetNamespace() != "default" || !slices.Equal(want[7].GetVector(), []float32{1, 7, 0.5}) || want[7].GetMetadata() != nil {
		t.Fatalf("exported %d chunks of both namespaces, the eighth %v, %v", len(want), want[7], err)
	}
	var got []*ragdv1.ExportedChunk
	calls := 0
	for both.PageToken = ""; calls == 0 || both.PageToken != ""; calls++ {
		part, next, err := exported(t, acme, both, 2)
		if err != nil {
			t.Fatal(err)
		}
		got, both.PageToken = append(got, part...), next
	}
	if calls < 3 || !slices.Equal(exportedIDs(got), exportedIDs(want)) {
		t.Errorf("%d calls exported %d chunks, want %d", calls, len(got), len(want))
	}
	of := func(team string) *structpb.Value {
		return structpb.NewStructValue(servicetest.Object(t, map[string]any{"team": team}))
	}
	red := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})}))
	for name, c := range map[string]servicetest.Client{"red": red, "filtered": s.Client(acme.Secret, "Ragd-Context", `{"filter": {"team": "red"}}`)} {
		reds, _, err := exported(t, c, &ragdv1.ExportChunksRequest{IndexName: "docs"}, 1000)
		if err != nil || len(reds) != all/3 || slices.ContainsFunc(reds, func(c *ragdv1.ExportedChunk) bool {
			return c.GetMetadata().GetFields()["team"].GetStringValue() != "red"
		}) {
			t.Errorf("%s exported %d chunks, %v", name, len(reds), err)
		}
		if blues, _, err := exported(t, c, &ragdv1.ExportChunksRequest{IndexName: "docs", Filter: of("blue")}, 1000); err != nil || len(blues) > 0 {
			t.Errorf("%s exported %d blue chunks, %v", name, len(blues), err)
		}
	}
	if none, _, err := exported(t, bolt, &ragdv1.ExportChunksRequest{IndexName: "docs"}, 1000); err != nil || len(none) > 0 {
		t.Errorf("another tenant exported %d chunks, %v", len(none), err)
	}
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: names("texts")}))
	_, _, err = exported(t, bound, &ragdv1.ExportChunksRequest{IndexName: "docs"}, 1)
	servicetest.WantCode(t, "ExportChunks beyond bounds", err, connect.CodeNotFound)
	_, token, err := exported(t, acme, &ragdv1.ExportChunksRequest{IndexName: "docs"}, 1)
	if err != nil || token == "" {
		t.Fatalf("the first part has the token %q, %v", token, err)
	}
	for name, c := range map[string]servicetest.Client{"another key": red, "another tenant": bolt} {
		_, _, err = exported(t, c, &ragdv1.ExportChunksRequest{IndexName: "docs", PageToken: token}, 1)
		servicetest.WantCode(t, "a token with "+name, err, connect.CodeInvalidArgument)
	}
	for want, req := range map[string]*ragdv1.ExportChunksRequest{
		"fields[1]: unknown field":        {Fields: []string{"text", "embedding"}},
		"namespaces: must be at most 100": {Namespaces: slices.Repeat([]string{"a"}, 101)},
		"pageToken":                       {Filter: of("red"), PageToken: token},
	} {
		req.IndexName = "docs"
		if _, _, err := exported(t, acme, req, 1); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	need(t)(acme.DeleteIndex(ctx, &ragdv1.DeleteIndexRequest{IndexName: "docs"}))
	need(t)(acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "docs", Dimension: 3}))
	_, _, err = exported(t, acme, &ragdv1.ExportChunksRequest{IndexName: "docs", PageToken: token}, 1)
	servicetest.WantCode(t, "a token of a deleted index", err, connect.CodeFailedPrecondition)

	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "texts", Uri: "ropes.txt", Title: "Ropes", Source: servicetest.Text("Ropes are stored dry.")})
	texts, _, err := exported(t, acme, &ragdv1.ExportChunksRequest{IndexName: "texts"}, 10)
	if err != nil || len(texts) != 1 || texts[0].GetUri() != "ropes.txt" || texts[0].GetTitle() != "Ropes" || texts[0].GetEndByte() != 21 || texts[0].GetDocumentId() == "" {
		t.Errorf("exported %v, %v", texts, err)
	}
}
