package ragd

import (
	"context"
	"iter"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// Index is an index of the tenant, which need not exist yet.
type Index struct {
	Name   string
	client *Client
}

// Create creates the index with settings, nil for the defaults; nothing happens if it exists with the same
// ones.
func (i *Index) Create(ctx context.Context, settings *ragdv1.CreateIndexRequest) (*ragdv1.Index, error) {
	req := own(settings)
	req.IndexName = i.Name
	return i.client.Indexes.CreateIndex(ctx, req)
}

// Describe returns settings, counts and state.
func (i *Index) Describe(ctx context.Context) (*ragdv1.Index, error) {
	return i.client.Indexes.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: i.Name})
}

// Drop deletes the index with its documents.
func (i *Index) Drop(ctx context.Context) error {
	_, err := i.client.Indexes.DeleteIndex(ctx, &ragdv1.DeleteIndexRequest{IndexName: i.Name})
	return err
}

// Query returns the chunks that match a question best. settings, nil for the defaults, are those of a
// request without index and question.
func (i *Index) Query(ctx context.Context, question string, settings *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
	req := own(settings)
	req.IndexName, req.QueryText = i.Name, question
	return i.client.Queries.VectorQuery(ctx, req)
}

// Graph returns what a walk through the graph of the index reaches from a question. settings, nil for the
// defaults, are those of a request without index and question.
func (i *Index) Graph(ctx context.Context, question string, settings *ragdv1.GraphRagRequest) (*ragdv1.GraphRagResponse, error) {
	req := own(settings)
	req.IndexName, req.QueryText = i.Name, question
	return i.client.Queries.GraphRag(ctx, req)
}

// Suggest completes what is being typed into a search. settings, nil for the defaults, are those of a request without index and prefix.
func (i *Index) Suggest(ctx context.Context, prefix string, settings *ragdv1.SuggestRequest) (*ragdv1.SuggestResponse, error) {
	req := own(settings)
	req.IndexName, req.Prefix = i.Name, prefix
	return i.client.Queries.Suggest(ctx, req)
}

// Count counts the chunks and documents that a filter selects, by the values of fields too. settings, nil for all chunks, are those of
// a request without index.
func (i *Index) Count(ctx context.Context, settings *ragdv1.CountChunksRequest) (*ragdv1.CountChunksResponse, error) {
	req := own(settings)
	req.IndexName = i.Name
	return i.client.Queries.CountChunks(ctx, req)
}

// Documents yields the documents of the index. settings, nil for the defaults, are those of a request
// without index and page.
func (i *Index) Documents(ctx context.Context, settings *ragdv1.ListDocumentsRequest) iter.Seq2[*ragdv1.Document, error] {
	return pages(func(token string) ([]*ragdv1.Document, string, error) {
		req := own(settings)
		req.IndexName, req.PageSize, req.PageToken = i.Name, 1000, token
		page, err := i.client.Documents.ListDocuments(ctx, req)
		return page.GetDocuments(), page.GetNextPageToken(), err
	})
}

// Chunks yields the chunks of a document in reading order.
func (i *Index) Chunks(ctx context.Context, documentID string) iter.Seq2[*ragdv1.Chunk, error] {
	return pages(func(token string) ([]*ragdv1.Chunk, string, error) {
		page, err := i.client.Documents.ListChunks(ctx, &ragdv1.ListChunksRequest{IndexName: i.Name, DocumentId: documentID, PageSize: 1000, PageToken: token})
		return page.GetChunks(), page.GetNextPageToken(), err
	})
}

// Read returns the text that was read from a document.
func (i *Index) Read(ctx context.Context, documentID string) (string, error) {
	var text strings.Builder
	for from := uint32(0); ; {
		part, err := i.client.Documents.ReadDocument(ctx, &ragdv1.ReadDocumentRequest{IndexName: i.Name, DocumentId: documentID, StartByte: from})
		if err != nil {
			return "", err
		}
		text.WriteString(part.GetText())
		if from = part.GetEndByte(); from >= part.GetByteSize() || part.GetText() == "" {
			return text.String(), nil
		}
	}
}

// Delete deletes documents with the uris, and returns how many there were.
func (i *Index) Delete(ctx context.Context, uris ...string) (int, error) {
	answer, err := i.client.Documents.DeleteDocuments(ctx, &ragdv1.DeleteDocumentsRequest{IndexName: i.Name, Uris: uris})
	return int(answer.GetDeletedCount()), err
}

// watches is how often the stream of a job is opened again when it breaks off.
const watches = 10

// Wait waits until a job has ended, and returns it. changed, if it is not nil, is called with the job at
// once and after each change. Errors: *JobError if the job failed or was cancelled.
func (c *Client) Wait(ctx context.Context, jobID string, changed func(*ragdv1.Job)) (*ragdv1.Job, error) {
	for attempt := 1; ; attempt++ {
		job, err := c.watch(ctx, jobID, changed)
		switch {
		case err == nil && job.GetStatus() == "succeeded":
			return job, nil
		case err == nil:
			return job, &JobError{job}
		case connect.CodeOf(err) != connect.CodeUnavailable || attempt == watches:
			return job, err
		}
		if pause, again := c.retry.pause(attempt, err); !again || sleep(ctx, pause) != nil {
			return job, err
		}
	}
}

// watch follows a job until the stream ends.
func (c *Client) watch(ctx context.Context, jobID string, changed func(*ragdv1.Job)) (job *ragdv1.Job, err error) {
	stream, err := c.Documents.WatchJob(ctx, &ragdv1.WatchJobRequest{JobId: jobID})
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }() // the job is what counts
	for stream.Receive() {
		job = stream.Msg()
		if changed != nil {
			changed(job)
		}
	}
	return job, stream.Err()
}

// own returns a copy of a message, or a new one, for the caller to fill in.
func own[T any, M interface {
	*T
	proto.Message
}](settings M) M {
	if settings == nil {
		return new(T)
	}
	return proto.Clone(settings).(M)
}

// pages yields the items of all pages of a list.
func pages[T any](read func(token string) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for token := ""; ; {
			items, next, err := read(token)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if token = next; token == "" {
				return
			}
		}
	}
}
