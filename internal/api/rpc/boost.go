package rpc

import (
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/query"
)

func boostOf(b *ragdv1.Boost) *query.Boost {
	if b == nil {
		return nil
	}
	return &query.Boost{
		Field: b.GetField(), HalfLife: b.GetHalfLife(), Weight: b.Weight, Decay: query.Decay(b.GetDecay()),
		Origin: b.GetOrigin().AsInterface(), HalfDistance: b.HalfDistance, Offset: b.GetOffset().AsInterface(), Filter: b.GetFilter().AsInterface(), Popularity: b.GetPopularity(),
	}
}

func boostsOf(boosts []*ragdv1.Boost) []query.Boost {
	var out []query.Boost
	for _, b := range boosts {
		out = append(out, *boostOf(b))
	}
	return out
}

func boostMessage(b query.Boost) (*ragdv1.Boost, error) {
	message := &ragdv1.Boost{Field: b.Field, HalfLife: b.HalfLife, Weight: b.Weight, Decay: string(b.Decay), HalfDistance: b.HalfDistance, Popularity: b.Popularity}
	for _, value := range []struct {
		of   any
		into **structpb.Value
	}{{b.Origin, &message.Origin}, {b.Offset, &message.Offset}, {b.Filter, &message.Filter}} {
		if value.of == nil {
			continue
		}
		var err error
		if *value.into, err = structpb.NewValue(value.of); err != nil {
			return nil, err
		}
	}
	return message, nil
}

func recencyMessage(r *query.Recency) *ragdv1.Recency {
	if r == nil {
		return nil
	}
	message := &ragdv1.Recency{Score: r.Score, Factor: r.Factor, Factors: r.Factors}
	if !r.Time.IsZero() {
		message.Time = timestamp(r.Time)
	}
	return message
}
