package rpc

import (
	"context"
	"encoding/hex"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/budget"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// UploadDocument implements DocumentService.
func (h *Handlers) UploadDocument(ctx context.Context, req *ragdv1.UploadDocumentRequest) (*ragdv1.UploadDocumentResponse, error) {
	upload, err := uploadOf(req)
	if err != nil {
		return nil, err
	}
	d, job, err := h.Ingest.Upload(ctx, upload)
	if err != nil {
		return nil, err
	}
	document, err := documentMessage(d, job.IndexName)
	return &ragdv1.UploadDocumentResponse{Document: document, Job: jobMessage(job)}, err
}

func uploadOf(req *ragdv1.UploadDocumentRequest) (ingest.Upload, error) {
	chunking, err := chunkingSettings(req.GetChunking())
	if err != nil {
		return ingest.Upload{}, err
	}
	extract, err := extractSettings(req.GetExtract())
	return ingest.Upload{
		IndexName: req.GetIndexName(), Namespace: req.GetNamespace(), URI: req.GetUri(), Title: req.GetTitle(), ContentType: req.GetContentType(),
		Content: contentOf(req.GetText(), req.GetContent()), Metadata: req.GetMetadata().AsMap(), Chunking: chunking,
		Extract: extract, Fingerprint: req.GetFingerprint(),
	}, err
}

// contentOf returns the text of a request, or its content if the text is empty.
func contentOf(text string, content []byte) []byte {
	if text != "" {
		return []byte(text)
	}
	return content
}

// GetDocument implements DocumentService.
func (h *Handlers) GetDocument(ctx context.Context, req *ragdv1.GetDocumentRequest) (*ragdv1.Document, error) {
	ref := ingest.Ref{DocumentID: req.GetDocumentId(), URI: req.GetUri(), Namespace: req.GetNamespace()}
	d, indexName, err := h.Ingest.Document(ctx, req.GetIndexName(), ref)
	if err != nil {
		return nil, err
	}
	return documentMessage(d, indexName)
}

// DownloadDocument implements DocumentService.
func (h *Handlers) DownloadDocument(ctx context.Context, req *ragdv1.DownloadDocumentRequest, stream *connect.ServerStream[ragdv1.DownloadDocumentResponse]) error {
	return h.Download(ctx, req, stream.Send)
}

// Download calls send with the messages of DownloadDocument.
func (h *Handlers) Download(ctx context.Context, req *ragdv1.DownloadDocumentRequest, send func(*ragdv1.DownloadDocumentResponse) error) error {
	ref := ingest.Ref{DocumentID: req.GetDocumentId(), URI: req.GetUri(), Namespace: req.GetNamespace()}
	part := ingest.Range{Start: int64(req.GetStartByte()), End: int64(req.GetEndByte())}
	begin := func(d ingest.Document, indexName string) error {
		message, err := documentMessage(d, indexName)
		if err != nil {
			return err
		}
		return send(&ragdv1.DownloadDocumentResponse{Part: &ragdv1.DownloadDocumentResponse_Document{Document: message}})
	}
	return h.Ingest.Download(ctx, req.GetIndexName(), ref, part, begin, func(piece []byte) error {
		return send(&ragdv1.DownloadDocumentResponse{Part: &ragdv1.DownloadDocumentResponse_Content{Content: piece}})
	})
}

// ReadDocument implements DocumentService.
func (h *Handlers) ReadDocument(ctx context.Context, req *ragdv1.ReadDocumentRequest) (*ragdv1.ReadDocumentResponse, error) {
	ref := ingest.Ref{DocumentID: req.GetDocumentId(), URI: req.GetUri(), Namespace: req.GetNamespace()}
	most, err := budget.New(intOf(req.MaxTokens), req.GetEncodingName())
	if err != nil {
		return nil, err
	}
	wanted := ingest.Range{Start: int64(req.GetStartByte()), End: int64(req.GetEndByte())}
	if most != nil && wanted.End == 0 {
		wanted.End = wanted.Start + min(int64(most.Max)*bytesPerToken, ingest.DefaultTextRange)
	}
	found, err := h.Ingest.Text(ctx, req.GetIndexName(), ref, wanted)
	if err != nil {
		return nil, err
	}
	document, err := documentMessage(found.Document, found.IndexName)
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ReadDocumentResponse{
		Document: document, ContentType: found.ContentType, Text: found.Text,
		StartByte: uint32(found.Range.Start), EndByte: uint32(found.Range.End), ByteSize: uint32(found.Size),
	}
	if most != nil {
		err = h.shorten(ctx, most, res)
	}
	return res, err
}

// ListDocuments implements DocumentService.
func (h *Handlers) ListDocuments(ctx context.Context, req *ragdv1.ListDocumentsRequest) (*ragdv1.ListDocumentsResponse, error) {
	f, err := filterOf(req.GetFilter())
	if err != nil {
		return nil, err
	}
	found, indexName, next, err := h.Ingest.Documents(ctx, ingest.Listing{
		IndexName: req.GetIndexName(), Namespace: req.GetNamespace(), Filter: f, PageSize: req.GetPageSize(), PageToken: req.GetPageToken(), Status: req.GetStatus(), Search: req.GetSearch(), OrderBy: req.GetOrderBy(),
	})
	if err != nil {
		return nil, err
	}
	documents, err := convertLarge(ctx, h.Processor, found, func(d ingest.Document) (*ragdv1.Document, error) {
		return documentMessage(d, indexName)
	})
	return &ragdv1.ListDocumentsResponse{Documents: documents, NextPageToken: next}, err
}

// DeleteDocument implements DocumentService.
func (h *Handlers) DeleteDocument(ctx context.Context, req *ragdv1.DeleteDocumentRequest) (*ragdv1.DeleteDocumentResponse, error) {
	ref := ingest.Ref{DocumentID: req.GetDocumentId(), URI: req.GetUri(), Namespace: req.GetNamespace()}
	return &ragdv1.DeleteDocumentResponse{}, h.Ingest.Delete(ctx, req.GetIndexName(), ref)
}

// DeleteDocuments implements DocumentService.
func (h *Handlers) DeleteDocuments(ctx context.Context, req *ragdv1.DeleteDocumentsRequest) (*ragdv1.DeleteDocumentsResponse, error) {
	f, err := filterOf(req.GetFilter())
	if err != nil {
		return nil, err
	}
	deleted, err := h.Ingest.DeleteSelected(ctx, ingest.Selection{
		IndexName: req.GetIndexName(), DocumentIDs: req.GetDocumentIds(), URIs: req.GetUris(),
		Filter: f, FilterGiven: req.GetFilter() != nil, Namespace: req.GetNamespace(), DryRun: req.GetDryRun(),
	})
	if err != nil {
		return nil, err
	}
	res := &ragdv1.DeleteDocumentsResponse{DeletedCount: int32(deleted.Count)}
	for _, d := range deleted.First {
		res.Documents = append(res.Documents, &ragdv1.DeletedDocument{DocumentId: d.DocumentID, Namespace: d.Namespace, Uri: d.URI})
	}
	return res, nil
}

// SyncSource implements DocumentService.
func (h *Handlers) SyncSource(ctx context.Context, req *ragdv1.SyncSourceRequest) (*ragdv1.SyncSourceResponse, error) {
	source := ingest.Source{
		IndexName: req.GetIndexName(), Namespace: req.GetNamespace(), Prefix: req.GetUriPrefix(), WholeIndex: req.GetWholeIndex(),
		DryRun: req.GetDryRun(), AllowEmpty: req.GetAllowEmpty(),
	}
	for _, d := range req.GetDocuments() {
		source.URIs = append(source.URIs, d.GetUri())
		source.Fingerprints = append(source.Fingerprints, d.GetFingerprint())
	}
	found, err := h.Ingest.Sync(ctx, source)
	if err != nil {
		return nil, err
	}
	return &ragdv1.SyncSourceResponse{
		NewUris: found.New, ChangedUris: found.Changed, UnchangedCount: int32(found.Unchanged),
		GoneUris: found.Gone[:min(len(found.Gone), ingest.MaxGoneListed)], GoneCount: int32(len(found.Gone)),
	}, nil
}

// FindUnchanged implements DocumentService.
func (h *Handlers) FindUnchanged(ctx context.Context, req *ragdv1.FindUnchangedRequest) (*ragdv1.FindUnchangedResponse, error) {
	chunking, err := chunkingSettings(req.GetChunking())
	if err != nil {
		return nil, err
	}
	given := ingest.Fingerprints{IndexName: req.GetIndexName(), Namespace: req.GetNamespace(), Chunking: chunking}
	for _, d := range req.GetDocuments() {
		given.URIs, given.Fingerprints = append(given.URIs, d.GetUri()), append(given.Fingerprints, d.GetFingerprint())
	}
	unchanged, err := h.Ingest.Unchanged(ctx, given)
	if err != nil {
		return nil, err
	}
	res := &ragdv1.FindUnchangedResponse{Unchanged: make([]int32, len(unchanged))}
	for i, position := range unchanged {
		res.Unchanged[i] = int32(position)
	}
	return res, nil
}

// SituateDocuments implements DocumentService.
func (h *Handlers) SituateDocuments(ctx context.Context, req *ragdv1.SituateDocumentsRequest) (*ragdv1.SituateDocumentsResponse, error) {
	done, err := h.Ingest.Situate(ctx, req.GetIndexName(), req.GetNamespace(), req.GetDryRun())
	if err != nil {
		return nil, err
	}
	return &ragdv1.SituateDocumentsResponse{
		Documents: int32(done.Documents), Chunks: int32(done.Chunks), Calls: float64(done.Cost.Calls),
		InputTokens: float64(done.Cost.InputTokens), CachedTokens: float64(done.Cost.CachedTokens), OutputTokens: float64(done.Cost.OutputTokens),
		BudgetTokens: float64(done.Budget), SpentTokens: float64(done.Spent), Remaining: done.Remaining,
	}, nil
}

// ListChunks implements DocumentService.
func (h *Handlers) ListChunks(ctx context.Context, req *ragdv1.ListChunksRequest) (*ragdv1.ListChunksResponse, error) {
	found, next, err := h.Ingest.Chunks(ctx, req.GetIndexName(), req.GetDocumentId(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	chunks, err := convertLarge(ctx, h.Processor, found, storedChunkMessage)
	return &ragdv1.ListChunksResponse{Chunks: chunks, NextPageToken: next}, err
}

// ExportChunks implements DocumentService.
func (h *Handlers) ExportChunks(ctx context.Context, req *ragdv1.ExportChunksRequest, stream *connect.ServerStream[ragdv1.ExportChunksResponse]) error {
	f, err := filter.Parse(req.GetFilter().AsInterface())
	if err != nil {
		return err
	}
	wanted := query.Export{
		IndexName: req.GetIndexName(), Namespaces: req.GetNamespaces(), Filter: f, Fields: req.GetFields(), PageToken: req.GetPageToken(),
		Freshness: freshnessOf(req),
	}
	return h.Queries.Export(ctx, wanted, func(part []query.Exported, next string) error {
		chunks, err := convertLarge(ctx, h.Processor, part, new(objectReader).exportedMessage)
		if err != nil {
			return err
		}
		return stream.Send(&ragdv1.ExportChunksResponse{Chunks: chunks, NextPageToken: next})
	})
}

// exportedMessage converts an exported chunk, whose metadata r parses.
func (r *objectReader) exportedMessage(e query.Exported) (*ragdv1.ExportedChunk, error) {
	s := e.Source()
	m := &ragdv1.ExportedChunk{
		ChunkId: s.ID, Namespace: e.Namespace, DocumentId: s.DocumentID, Uri: s.URI, Title: s.Title, Ordinal: int32(s.Ordinal), Text: s.Text,
		StartByte: uint32(s.StartByte), EndByte: uint32(s.EndByte), TokenCount: int32(e.TokenCount), Vector: s.Vector,
	}
	if s.Metadata == "" {
		return m, nil
	}
	var err error
	m.Metadata, err = r.read(s.Metadata)
	return m, err
}

// GetJob implements DocumentService.
func (h *Handlers) GetJob(ctx context.Context, req *ragdv1.GetJobRequest) (*ragdv1.Job, error) {
	j, err := h.Jobs.Get(ctx, req.GetJobId())
	if err != nil {
		return nil, err
	}
	return jobMessage(j), nil
}

// ListJobs implements DocumentService.
func (h *Handlers) ListJobs(ctx context.Context, req *ragdv1.ListJobsRequest) (*ragdv1.ListJobsResponse, error) {
	found, next, err := h.Jobs.List(ctx, req.GetStatus(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListJobsResponse{NextPageToken: next}
	for _, j := range found {
		res.Jobs = append(res.Jobs, jobMessage(j))
	}
	return res, nil
}

// WatchJob implements DocumentService.
func (h *Handlers) WatchJob(ctx context.Context, req *ragdv1.WatchJobRequest, stream *connect.ServerStream[ragdv1.Job]) error {
	return h.Jobs.Watch(ctx, req.GetJobId(), func(j job.Job) error { return stream.Send(jobMessage(j)) })
}

// CancelJob implements DocumentService.
func (h *Handlers) CancelJob(ctx context.Context, req *ragdv1.CancelJobRequest) (*ragdv1.Job, error) {
	j, err := h.Jobs.Cancel(ctx, req.GetJobId())
	if err != nil {
		return nil, err
	}
	return jobMessage(j), nil
}

// RetryJob implements DocumentService.
func (h *Handlers) RetryJob(ctx context.Context, req *ragdv1.RetryJobRequest) (*ragdv1.Job, error) {
	j, err := h.Jobs.Retry(ctx, req.GetJobId())
	if err != nil {
		return nil, err
	}
	return jobMessage(j), nil
}

func documentMessage(d ingest.Document, indexName string) (*ragdv1.Document, error) {
	metadata, err := structOf(d.Metadata)
	m := &ragdv1.Document{
		DocumentId: d.DocumentID, IndexName: indexName, Uri: d.URI, Title: d.Title, ContentType: d.ContentType,
		Metadata: metadata, ContentHash: d.ContentHash, Version: int32(d.Version), Status: d.Status, Error: d.Error, Notice: d.Notice,
		ChunkCount: int32(d.ChunkCount), ByteSize: uint32(d.ByteSize),
		CreateTime: timestamp(d.CreatedAt), UpdateTime: timestamp(d.UpdatedAt), Fingerprint: d.Fingerprint,
		Namespace: d.Namespace, ContentSha256: hex.EncodeToString(d.ContentSHA256),
	}
	if d.TextBytes != nil {
		m.TextByteSize, m.TextContentType = uint32(*d.TextBytes), d.TextType
	}
	return m, err
}

func storedChunkMessage(c ingest.Chunk) (*ragdv1.Chunk, error) {
	metadata, err := structOf(c.Metadata)
	return &ragdv1.Chunk{
		ChunkId: c.ChunkID, DocumentId: c.DocumentID, Ordinal: int32(c.Ordinal), Text: c.Text, Metadata: metadata,
		StartByte: uint32(c.StartByte), EndByte: uint32(c.EndByte), TokenCount: int32(c.TokenCount),
	}, err
}

func jobMessage(j job.Job) *ragdv1.Job {
	message := &ragdv1.Job{
		JobId: j.JobID, Kind: string(j.Kind), Status: string(j.Status), Attempts: int32(j.Attempts), Error: j.Error, IndexName: j.IndexName,
		Progress:   &ragdv1.JobProgress{Done: int32(j.Done), Total: int32(j.Total), Unit: j.Unit},
		CreateTime: timestamp(j.CreatedAt), UpdateTime: timestamp(j.UpdatedAt),
	}
	if j.DocumentID != nil {
		message.DocumentId = *j.DocumentID
	}
	message.Extraction = extractionMessage(j.Extraction)
	return message
}

// extractionMessage converts the cost of an extraction; nil gives nil.
func extractionMessage(e *job.Extraction) *ragdv1.Extraction {
	if e == nil {
		return nil
	}
	message := &ragdv1.Extraction{
		Calls: int32(e.Calls), InputTokens: int32(e.InputTokens), OutputTokens: int32(e.OutputTokens), Failed: int32(e.Failed),
	}
	for _, f := range e.Failures {
		message.Failures = append(message.Failures, &ragdv1.ExtractionFailure{
			Ordinal: int32(f.Ordinal), Field: f.Field, Reason: f.Reason,
		})
	}
	return message
}
