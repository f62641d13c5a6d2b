package rpc

import (
	"context"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/endpoint/own"
)

// CreateEndpoint implements EndpointService.
func (h *Handlers) CreateEndpoint(ctx context.Context, req *ragdv1.CreateEndpointRequest) (*ragdv1.Endpoint, error) {
	made, err := h.Endpoints.Create(ctx, own.Endpoint{
		Name: req.GetEndpointName(), Kind: endpoint.Kind(req.GetKind()), BaseURL: req.GetBaseUrl(),
		MaxConcurrentCalls: int(req.GetMaxConcurrentCalls()), RequestsPerSecond: req.GetRequestsPerSecond(),
		Timeout: time.Duration(req.GetTimeoutMs()) * time.Millisecond, Models: endpointModels(req.GetModels()),
	}, own.Secret{APIKey: req.GetApiKey(), Headers: req.GetHeaders().GetHeaders()})
	return endpointOrError(made, err)
}

// GetEndpoint implements EndpointService.
func (h *Handlers) GetEndpoint(ctx context.Context, req *ragdv1.GetEndpointRequest) (*ragdv1.Endpoint, error) {
	found, err := h.Endpoints.Get(ctx, req.GetEndpointName())
	return endpointOrError(found, err)
}

// ListEndpoints implements EndpointService.
func (h *Handlers) ListEndpoints(ctx context.Context, req *ragdv1.ListEndpointsRequest) (*ragdv1.ListEndpointsResponse, error) {
	mine, next, operators, err := h.Endpoints.List(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListEndpointsResponse{NextPageToken: next}
	for _, e := range mine {
		res.Endpoints = append(res.Endpoints, endpointMessage(e))
	}
	for _, e := range operators {
		res.OperatorEndpoints = append(res.OperatorEndpoints, endpointMessage(e))
	}
	return res, nil
}

// UpdateEndpoint implements EndpointService.
func (h *Handlers) UpdateEndpoint(ctx context.Context, req *ragdv1.UpdateEndpointRequest) (*ragdv1.Endpoint, error) {
	change := own.Change{BaseURL: req.BaseUrl, APIKey: req.ApiKey, RequestsPerSecond: req.RequestsPerSecond}
	if req.Headers != nil {
		if change.Headers = req.GetHeaders().GetHeaders(); change.Headers == nil {
			change.Headers = map[string]string{}
		}
	}
	if req.MaxConcurrentCalls != nil {
		change.MaxConcurrentCalls = new(int(req.GetMaxConcurrentCalls()))
	}
	if req.TimeoutMs != nil {
		change.Timeout = new(time.Duration(req.GetTimeoutMs()) * time.Millisecond)
	}
	if req.Models != nil {
		change.Models = endpointModels(req.GetModels().GetModels())
	}
	changed, err := h.Endpoints.Update(ctx, req.GetEndpointName(), change)
	return endpointOrError(changed, err)
}

// DeleteEndpoint implements EndpointService.
func (h *Handlers) DeleteEndpoint(ctx context.Context, req *ragdv1.DeleteEndpointRequest) (*ragdv1.DeleteEndpointResponse, error) {
	return &ragdv1.DeleteEndpointResponse{}, h.Endpoints.Delete(ctx, req.GetEndpointName())
}

// TestEndpoint implements EndpointService.
func (h *Handlers) TestEndpoint(ctx context.Context, req *ragdv1.TestEndpointRequest) (*ragdv1.TestEndpointResponse, error) {
	tested, err := h.Endpoints.Test(ctx, req.GetEndpointName(), req.GetModel(), endpoint.Use(req.GetUse()))
	if err != nil {
		return nil, err
	}
	return &ragdv1.TestEndpointResponse{Models: tested.Models, Dimension: int32(tested.Dimension), TookMs: int32(tested.Took.Milliseconds())}, nil
}

// endpointModels returns the models of a request. It is never nil.
func endpointModels(given []*ragdv1.EndpointModel) []endpoint.Model {
	models := make([]endpoint.Model, len(given))
	for i, m := range given {
		models[i] = endpoint.Model{
			Name: m.GetModel(), Dimension: int(m.GetDimension()), MaxTokens: int(m.GetMaxTokens()), Matryoshka: m.GetMatryoshka(),
			DocumentPrefix: m.GetDocumentPrefix(), QuestionPrefix: m.GetQuestionPrefix(),
		}
	}
	return models
}

func endpointOrError(e own.Endpoint, err error) (*ragdv1.Endpoint, error) {
	if err != nil {
		return nil, err
	}
	return endpointMessage(e), nil
}

func endpointMessage(e own.Endpoint) *ragdv1.Endpoint {
	out := &ragdv1.Endpoint{
		EndpointName: e.Name, Kind: string(e.Kind), BaseUrl: e.BaseURL, HasApiKey: e.HasAPIKey, HeaderNames: e.HeaderNames,
		MaxConcurrentCalls: int32(e.MaxConcurrentCalls), RequestsPerSecond: e.RequestsPerSecond, TimeoutMs: int32(e.Timeout.Milliseconds()),
		Operator: e.Operator,
	}
	for _, m := range e.Models {
		out.Models = append(out.Models, &ragdv1.EndpointModel{
			Model: m.Name, Dimension: int32(m.Dimension), MaxTokens: int32(m.MaxTokens), Matryoshka: m.Matryoshka,
			DocumentPrefix: m.DocumentPrefix, QuestionPrefix: m.QuestionPrefix,
		})
	}
	if !e.Operator {
		out.CreateTime, out.UpdateTime = timestamp(e.CreatedAt), timestamp(e.UpdatedAt)
	}
	return out
}
