package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/operate/metadata"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// chunkingSettings converts chunking options to settings; nil gives empty settings.
// Errors: Invalid.
func chunkingSettings(c *ragdv1.Chunking) (chunk.Settings, error) {
	if c == nil {
		return chunk.Settings{}, nil
	}
	raw, err := protojson.Marshal(c)
	if err != nil {
		return chunk.Settings{}, fmt.Errorf("read chunking settings: %w", err)
	}
	settings, err := chunk.ParseSettings(raw)
	return settings, fault.Under("chunking", err)
}

// chunkingMessage converts settings to chunking options; empty settings give nil.
func chunkingMessage(s chunk.Settings) (*ragdv1.Chunking, error) {
	if s.IsZero() {
		return nil, nil
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write chunking settings: %w", err)
	}
	out := &ragdv1.Chunking{}
	if err := protojson.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("write chunking settings: %w", err)
	}
	return out, nil
}

// extractSettings parses extraction options; nil if there are none. Errors: Invalid.
func extractSettings(s *structpb.Struct) (*extract.Settings, error) {
	if s == nil {
		return nil, nil
	}
	raw, err := metadata.Marshal("extract", s.AsMap())
	if err != nil {
		return nil, err
	}
	settings, err := extract.ParseSettings(raw)
	if err != nil {
		return nil, fault.Under("extract", err)
	}
	return &settings, nil
}

// extractMessage converts extraction settings; nil gives nil.
func extractMessage(s *extract.Settings) (*structpb.Struct, error) {
	if s == nil {
		return nil, nil
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write extraction settings: %w", err)
	}
	out := &structpb.Struct{}
	return out, protojson.Unmarshal(raw, out)
}

// structOf converts a JSON object to a message. It fails only for values that JSON does
// not have.
func structOf(m map[string]any) (*structpb.Struct, error) {
	if m == nil {
		return nil, nil
	}
	return structpb.NewStruct(m)
}

// filterOf parses a filter given as an object.
func filterOf(s *structpb.Struct) (filter.Filter, error) {
	if s == nil {
		return filter.Filter{}, nil
	}
	return filter.Parse(s.AsMap())
}

func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func optionalTimestamp(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}

// convertAll converts each element of a list.
func convertAll[T, M any](ctx context.Context, list []T, convert func(T) (M, error)) ([]M, error) {
	steps := limit.NewSteps(ctx)
	out := make([]M, len(list))
	for i, v := range list {
		if !steps.Next(convertSteps) {
			return nil, steps.Err()
		}
		var err error
		if out[i], err = convert(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

const (
	// convertSteps is what converting an element of a list costs, see limit.Steps.
	convertSteps = 1 << 12
	// shortList is the length up to which a list is converted without a slot of the
	// processor.
	shortList = 100
)

// convertLarge is convertAll for lists that may be long.
func convertLarge[T, M any](ctx context.Context, p *limit.Processor, list []T, convert func(T) (M, error)) (out []M, err error) {
	if len(list) <= shortList {
		return convertAll(ctx, list, convert)
	}
	err = p.Run(ctx, tenantOf(ctx), func(ctx context.Context) error {
		out, err = convertAll(ctx, list, convert)
		return err
	})
	return out, err
}

// tenantOf returns the tenant of a call, "" for the operator.
func tenantOf(ctx context.Context) string {
	r, ok := access.FromContext(ctx)
	if !ok {
		return ""
	}
	return string(r.Tenant)
}

func filterMessage(f filter.Filter) (*structpb.Struct, error) {
	if f.IsZero() {
		return nil, nil
	}
	out := &structpb.Struct{}
	return out, protojson.Unmarshal(f.JSON(), out)
}
