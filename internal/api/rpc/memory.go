package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/memory"
)

// Remember implements MemoryService.
func (h *Handlers) Remember(ctx context.Context, req *ragdv1.RememberRequest) (*ragdv1.Memory, error) {
	made, err := h.Memories.Remember(ctx, memory.Memory{
		Text: req.GetText(), ValidFrom: timeIn(req.GetValidFrom()), ValidUntil: timeIn(req.GetValidUntil()), ExpiresAt: timeIn(req.GetExpireTime()),
		Replaces: req.GetReplaces(), Source: memory.Source{Note: req.GetNote()},
	})
	if err != nil {
		return nil, err
	}
	return memoryMessage(made), nil
}

// Recall implements MemoryService.
func (h *Handlers) Recall(ctx context.Context, req *ragdv1.RecallRequest) (*ragdv1.RecallResponse, error) {
	found, err := h.Memories.Recall(ctx, req.GetQueryText(), int(req.GetTopK()), timeIn(req.GetAsOf()))
	return &ragdv1.RecallResponse{Memories: memoryMessages(found)}, err
}

// ListMemories implements MemoryService.
func (h *Handlers) ListMemories(ctx context.Context, req *ragdv1.ListMemoriesRequest) (*ragdv1.ListMemoriesResponse, error) {
	found, next, err := h.Memories.List(ctx, memory.Listing{
		PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken(), Subject: req.GetSubject(), AllSubjects: req.GetAllSubjects(),
	})
	return &ragdv1.ListMemoriesResponse{Memories: memoryMessages(found), NextPageToken: next}, err
}

// Forget implements MemoryService.
func (h *Handlers) Forget(ctx context.Context, req *ragdv1.ForgetRequest) (*ragdv1.ForgetResponse, error) {
	count, first, err := h.Memories.Forget(ctx, memory.Which{
		ID: req.GetMemoryId(), Question: req.GetQueryText(), All: req.GetAll(), DryRun: req.GetDryRun(), Subject: req.GetSubject(),
	})
	return &ragdv1.ForgetResponse{DeletedCount: int32(count), Memories: memoryMessages(first)}, err
}

// timeIn returns the time of a message, zero for none.
func timeIn(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

func memoryMessages(memories []memory.Memory) []*ragdv1.Memory {
	messages := make([]*ragdv1.Memory, len(memories))
	for n, m := range memories {
		messages[n] = memoryMessage(m)
	}
	return messages
}

func memoryMessage(m memory.Memory) *ragdv1.Memory {
	return &ragdv1.Memory{
		MemoryId: m.ID, Text: m.Text, Subject: m.Subject, ValidFrom: timestamp(m.ValidFrom), ValidUntil: timestamp(m.ValidUntil), ExpireTime: timestamp(m.ExpiresAt),
		Replaces: m.Replaces, ReplacedBy: m.ReplacedBy, CreateTime: timestamp(m.CreatedAt), Score: m.Score,
		Source: &ragdv1.MemorySource{AgentName: m.Source.Agent, ThreadId: m.Source.ThreadID, Message: m.Source.Message, Note: m.Source.Note},
	}
}
