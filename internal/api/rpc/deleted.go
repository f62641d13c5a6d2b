package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// ListDeleted implements DocumentService.
func (h *Handlers) ListDeleted(ctx context.Context, req *ragdv1.ListDeletedRequest) (*ragdv1.ListDeletedResponse, error) {
	f, err := filterOf(req.GetFilter())
	if err != nil {
		return nil, err
	}
	page, err := h.Ingest.Deleted(ctx, ingest.KeptListing{
		IndexName: req.GetIndexName(), Namespace: req.GetNamespace(), Filter: f, PageSize: req.GetPageSize(), PageToken: req.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	documents, err := convertLarge(ctx, h.Processor, page.Documents, func(d ingest.KeptDocument) (*ragdv1.KeptDocument, error) {
		document, err := documentMessage(d.Document, page.IndexName)
		return &ragdv1.KeptDocument{
			Document: document, DeleteTime: timestamp(d.DeletedAt), DeletedBy: d.DeletedBy, EraseTime: timestamp(d.ErasedAt),
		}, err
	})
	return &ragdv1.ListDeletedResponse{
		Documents: documents, NextPageToken: page.Next, DocumentCount: int32(page.Total.Documents), ByteSize: float64(page.Total.Bytes),
	}, err
}

// RestoreDocuments implements DocumentService.
func (h *Handlers) RestoreDocuments(ctx context.Context, req *ragdv1.RestoreDocumentsRequest) (*ragdv1.RestoreDocumentsResponse, error) {
	since, _, err := timesOf(req.GetSince(), nil)
	if err != nil {
		return nil, fault.Rename("startTime", "since", err)
	}
	which := ingest.Restoration{
		IndexName: req.GetIndexName(), DocumentIDs: req.GetDocumentIds(), Namespace: req.GetNamespace(), OnConflict: req.GetOnConflict(), Since: since,
	}
	restored, err := h.Ingest.RestoreDeleted(ctx, which)
	if err != nil {
		return nil, err
	}
	res := &ragdv1.RestoreDocumentsResponse{RestoredCount: int32(restored.Count), SkippedCount: int32(restored.Skipped), Remaining: restored.Remaining}
	for _, d := range restored.First {
		res.Documents = append(res.Documents, &ragdv1.RestoredDocument{DocumentId: d.DocumentID, Namespace: d.Namespace, Uri: d.URI, Status: d.Status, JobId: d.JobID})
	}
	return res, nil
}

// EraseDeleted implements DocumentService.
func (h *Handlers) EraseDeleted(ctx context.Context, req *ragdv1.EraseDeletedRequest) (*ragdv1.EraseDeletedResponse, error) {
	n, err := h.Ingest.EraseDeleted(ctx, ingest.Erasure{
		IndexName: req.GetIndexName(), DocumentIDs: req.GetDocumentIds(), All: req.GetAll(), Namespace: req.GetNamespace(),
	})
	return &ragdv1.EraseDeletedResponse{ErasedCount: int32(n)}, err
}
