package openai

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/chunk/tokenizer"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Model is a model that a tenant may use.
type Model struct {
	Name      string // endpoint/model
	Owner     string // the endpoint
	CreatedAt time.Time
}

type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// list is a page of a list.
type list[T any] struct {
	Object  string  `json:"object"`
	Data    []T     `json:"data"`
	FirstID *string `json:"first_id,omitempty"`
	LastID  *string `json:"last_id,omitempty"`
	HasMore bool    `json:"has_more"`
}

// listModels implements GET /v1/models.
func (h *Handler) listModels(ctx context.Context, _ *http.Request) (*list[model], error) {
	all, err := h.models(ctx)
	return &list[model]{Object: "list", Data: all}, err
}

// getModel implements GET /v1/models/{model}.
func (h *Handler) getModel(ctx context.Context, r *http.Request) (*model, error) {
	all, err := h.models(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.ID == r.PathValue("model") {
			return &m, nil
		}
	}
	return nil, fault.New(fault.NotFound, "model %q not found: GET /v1/models lists those that are known by name", shorten(r.PathValue("model")))
}

func (h *Handler) models(ctx context.Context) ([]model, error) {
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	known, err := h.config.Models(ctx, caller.Tenant)
	out := make([]model, len(known))
	for i, m := range known {
		out[i] = model{ID: m.Name, Object: "model", Created: max(0, m.CreatedAt.Unix()), OwnedBy: m.Owner}
	}
	slices.SortFunc(out, func(a, b model) int { return cmp.Compare(a.ID, b.ID) })
	return out, err
}

// modelNamed returns the full name of a model, endpoint/model, that a caller may name without its
// endpoint, as programs written for one provider do: that of the only endpoint that lists it, else
// that of the endpoint openai. Errors: Invalid if several endpoints list it.
func (h *Handler) modelNamed(ctx context.Context, name string) (string, error) {
	if name == "" || strings.Contains(name, "/") {
		return name, nil
	}
	all, err := h.models(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, m := range all {
		if _, short, _ := strings.Cut(m.ID, "/"); strings.EqualFold(short, name) {
			found = append(found, m.ID)
		}
	}
	switch len(found) {
	case 0:
		return "openai/" + name, nil
	case 1:
		return found[0], nil
	}
	return "", fault.Field("model", "%q is at several endpoints: name one of %s", shorten(name), strings.Join(found, ", "))
}

// tokensOf returns the number of tokens of the texts in OpenAI's encoding, which is near that of
// other models.
func tokensOf(texts []string) int {
	encoding, n := tokenizer.Load(tokenizer.Default), 0
	for _, text := range texts {
		n += encoding.Count(text, nil)
	}
	return n
}
