package rpc

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/place/move"
)

// MoveTenant implements TenantService.
func (h *Handlers) MoveTenant(ctx context.Context, req *ragdv1.MoveTenantRequest) (*ragdv1.TenantMove, error) {
	m, err := h.Moves.Start(ctx, req.GetTenantId(), req.GetDatabaseName())
	if err != nil {
		return nil, err
	}
	return moveMessage(m)
}

// GetTenantMove implements TenantService.
func (h *Handlers) GetTenantMove(ctx context.Context, req *ragdv1.GetTenantMoveRequest) (*ragdv1.TenantMove, error) {
	m, err := h.Moves.Get(ctx, req.GetMoveId())
	if err != nil {
		return nil, err
	}
	return moveMessage(m)
}

// ListTenantMoves implements TenantService.
func (h *Handlers) ListTenantMoves(ctx context.Context, req *ragdv1.ListTenantMovesRequest) (*ragdv1.ListTenantMovesResponse, error) {
	found, next, err := h.Moves.List(ctx, req.GetTenantId(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	moves, err := convertAll(ctx, found, moveMessage)
	return &ragdv1.ListTenantMovesResponse{Moves: moves, NextPageToken: next}, err
}

func moveMessage(m move.Move) (*ragdv1.TenantMove, error) {
	message := &ragdv1.TenantMove{
		MoveId: m.ID, TenantId: string(m.TenantID), FromDatabaseName: cmp.Or(m.From, tenant.FirstDatabase), DatabaseName: cmp.Or(m.To, tenant.FirstDatabase),
		Phase: string(m.Phase), Step: m.Step, Attempts: int32(m.Attempts), Error: m.Error, Rows: float64(m.Rows), Bytes: float64(m.Bytes),
		WritePauseMs: float64(m.Pause.Milliseconds()), CreateTime: timestamppb.New(m.CreatedAt), UpdateTime: timestamppb.New(m.UpdatedAt),
	}
	if m.KeepUntil != nil {
		message.KeepUntilTime = timestamppb.New(*m.KeepUntil)
	}
	return message, nil
}
