package servicetest

import (
	"slices"
	"sync"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// streamDocuments is the number of documents that UploadAll sends in one stream.
const streamDocuments = 500

// UploadAll sends documents in several concurrent streams and returns their results in
// order. It does not wait until they are processed.
func (c Client) UploadAll(t testing.TB, documents []*ragdv1.UploadDocumentRequest) []*ragdv1.UploadResult {
	t.Helper()
	var streams sync.WaitGroup
	groups := slices.Collect(slices.Chunk(documents, streamDocuments))
	results := make([][]*ragdv1.UploadResult, len(groups))
	for i, group := range groups {
		streams.Go(func() { results[i] = c.stream(t, group) })
	}
	streams.Wait()
	all := slices.Concat(results...)
	if len(all) != len(documents) {
		t.Fatalf("%d of %d documents were answered", len(all), len(documents))
	}
	return all
}

// stream sends documents in one stream and returns their results.
func (c Client) stream(t testing.TB, documents []*ragdv1.UploadDocumentRequest) []*ragdv1.UploadResult {
	s, err := c.UploadDocuments(t.Context())
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, d := range documents {
		if s.Send(&ragdv1.UploadDocumentsRequest{Part: &ragdv1.UploadDocumentsRequest_Document{Document: d}}) != nil {
			break // the answer says why
		}
	}
	res, err := s.CloseAndReceive()
	if err != nil {
		t.Error(err)
	}
	return res.GetResults()
}

// AwaitAll waits until no document of an index is pending and returns the index.
func (c Client) AwaitAll(t testing.TB, indexName string) *ragdv1.Index {
	t.Helper()
	var i *ragdv1.Index
	wait.For(t, "the pending documents of index "+indexName, func() bool {
		var err error
		if i, err = c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: indexName}); err != nil {
			t.Fatal(err)
		}
		return i.PendingDocumentCount == 0
	})
	return i
}
