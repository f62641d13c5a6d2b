package rpc

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/extract"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/metadata"
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
	if len(s.GetFields()) == 0 {
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
func convertAll[T, M any](list []T, convert func(T) (M, error)) ([]M, error) {
	out := make([]M, len(list))
	for i, v := range list {
		var err error
		if out[i], err = convert(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func filterMessage(f filter.Filter) (*structpb.Struct, error) {
	if f.IsZero() {
		return nil, nil
	}
	out := &structpb.Struct{}
	return out, protojson.Unmarshal(f.JSON(), out)
}
