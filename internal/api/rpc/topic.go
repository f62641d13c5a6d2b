package rpc

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/graph"
)

// ListTopics implements QueryService.
func (h *Handlers) ListTopics(ctx context.Context, req *ragdv1.ListTopicsRequest) (*ragdv1.ListTopicsResponse, error) {
	list, err := h.Graphs.ListTopics(ctx, req.GetIndexName(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListTopicsResponse{
		NextPageToken: list.NextToken, FindTime: timestamppb.New(list.FoundAt), JobId: list.JobID,
		OtherChunkCount: int32(list.Other), Modularity: list.Modularity,
	}
	for _, t := range list.Topics {
		message := topicMessage(t)
		message.Share = float64(t.Chunks) / float64(max(1, list.Chunks))
		res.Topics = append(res.Topics, message)
	}
	return res, nil
}

func topicMessage(t graph.Topic) *ragdv1.Topic {
	message := &ragdv1.Topic{
		TopicId: t.TopicID, ParentId: t.ParentID, Namespace: t.Namespace, Title: t.Title, Summary: t.Summary, Terms: t.Terms,
		ChunkCount: int32(t.Chunks), DocumentCount: int32(t.Documents),
	}
	for _, c := range t.Central {
		message.Chunks = append(message.Chunks, &ragdv1.TopicChunk{DocumentId: c.DocumentID, Ordinal: int32(c.Ordinal), Uri: c.URI, Title: c.Title, Text: c.Text})
	}
	for _, d := range t.Largest {
		message.Documents = append(message.Documents, &ragdv1.TopicDocument{DocumentId: d.DocumentID, Uri: d.URI, Title: d.Title, ChunkCount: int32(d.Chunks)})
	}
	return message
}
