package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// ListUsage implements UsageService.
func (h *Handlers) ListUsage(ctx context.Context, req *ragdv1.ListUsageRequest) (*ragdv1.ListUsageResponse, error) {
	q := usage.Question{
		Interval: req.GetInterval(), GroupBy: req.GetGroupBy(), Index: req.GetIndexName(), Stage: usage.Stage(req.GetStage()),
	}
	var err error
	if q.From, q.To, err = timesOf(req.GetStartTime(), req.GetEndTime()); err != nil {
		return nil, err
	}
	found, next, err := h.Usage.List(ctx, q, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	rows, err := convertAll(ctx, found, usageMessage)
	return &ragdv1.ListUsageResponse{Rows: rows, NextPageToken: next}, err
}

// timesOf returns the times of the fields startTime and endTime, zero for those that are missing.
func timesOf(start, end *timestamppb.Timestamp) (from, to time.Time, err error) {
	for _, given := range []struct {
		field string
		time  *timestamppb.Timestamp
		into  *time.Time
	}{{"startTime", start, &from}, {"endTime", end, &to}} {
		if given.time == nil {
			continue
		}
		if err := given.time.CheckValid(); err != nil {
			return from, to, fault.Field(given.field, "is not a time from the year 1 to 9999")
		}
		*given.into = given.time.AsTime()
	}
	return from, to, nil
}

func usageMessage(r usage.Row) (*ragdv1.Usage, error) {
	return &ragdv1.Usage{
		StartTime: timestamp(r.Start), TenantId: r.Tenant, IndexName: r.Index, Stage: string(r.Stage), Model: r.Model,
		Calls: float64(r.Calls), Documents: float64(r.Documents), Chunks: float64(r.Chunks), Bytes: float64(r.Bytes),
		InputTokens: float64(r.InputTokens), OutputTokens: float64(r.OutputTokens), Seconds: r.Seconds,
	}, nil
}
