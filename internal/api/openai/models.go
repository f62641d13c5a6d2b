package openai

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
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
	all, err := h.allModels(ctx)
	return &list[model]{Object: "list", Data: all}, err
}

// getModel implements GET /v1/models/{model}.
func (h *Handler) getModel(ctx context.Context, r *http.Request) (*model, error) {
	all, err := h.allModels(ctx)
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

// maxListedIndexes is how many models passages/INDEX are listed. Further ones work all the same.
const maxListedIndexes = 1000

// allModels returns the models that embed, and those that answer: the agents of the caller, and passages of all
// and of each index that it sees.
func (h *Handler) allModels(ctx context.Context) ([]model, error) {
	all, err := h.models(ctx)
	if err != nil {
		return nil, err
	}
	add := func(id string, at time.Time) {
		all = append(all, model{ID: id, Object: "model", Created: max(0, at.Unix()), OwnedBy: "ragd"})
	}
	agents, _, err := h.config.Agents.List(ctx, maxListedAgents, "")
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		add(agentModel+a.Name, a.CreatedAt)
	}
	indexes, err := h.config.API.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: maxListedIndexes})
	if err != nil {
		return nil, err
	}
	add(passagesModel, time.Time{})
	for _, i := range indexes.GetIndexes() {
		add(passagesModel+"/"+i.GetIndexName(), i.GetCreateTime().AsTime())
	}
	slices.SortFunc(all, func(a, b model) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// maxListedAgents is above the limit of a tenant.
const maxListedAgents = 1000

// models returns the models of endpoints, in the order of their names.
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
