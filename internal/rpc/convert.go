package rpc

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/filter"
)

// chunkingMap gives chunking options the form that chunk.ParseOptions and the
// database take: what was not set is absent.
func chunkingMap(c *ragdv1.Chunking) (map[string]any, error) {
	if c == nil {
		return nil, nil
	}
	raw, err := protojson.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("read chunking options: %w", err)
	}
	var out map[string]any
	return out, json.Unmarshal(raw, &out)
}

func chunkingMessage(options map[string]any) (*ragdv1.Chunking, error) {
	if len(options) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("write chunking options: %w", err)
	}
	out := &ragdv1.Chunking{}
	if err := protojson.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("write chunking options: %w", err)
	}
	return out, nil
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
