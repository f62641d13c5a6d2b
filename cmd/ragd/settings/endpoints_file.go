package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Endpoints returns the endpoints in the file of the setting endpoints-file. Errors do not
// show keys.
func (s Settings) Endpoints() ([]*endpoint.Endpoint, error) {
	if s.EndpointsFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(s.EndpointsFile)
	if err != nil {
		return nil, fmt.Errorf("read endpoints-file: %w", err)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, fmt.Errorf("endpoints-file: %s is no JSON list of endpoints", s.EndpointsFile)
	}
	var all []*endpoint.Endpoint
	seen := map[string]bool{}
	for i, item := range items {
		e, err := s.endpoint(item)
		if err == nil && seen[e.Name] {
			err = fmt.Errorf("the name %q is taken", e.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("endpoints-file: endpoint %d: %w", i+1, err)
		}
		seen[e.Name] = true
		all = append(all, e)
	}
	return all, nil
}

// endpoint returns the endpoint that one entry of the file describes.
func (s Settings) endpoint(item json.RawMessage) (*endpoint.Endpoint, error) {
	var req ragdv1.CreateEndpointRequest
	if err := jsonmessage.Unmarshal(item, &req); err != nil {
		return nil, errors.New(fault.Public(err))
	}
	kind := endpoint.Kind(req.GetKind())
	config := endpoint.Config{
		APIKey: req.GetApiKey(), BaseURL: req.GetBaseUrl(), Headers: req.GetHeaders().GetHeaders(), RequestsPerSecond: req.GetRequestsPerSecond(),
		Timeout: time.Duration(req.GetTimeoutMs()) * time.Millisecond, MaxConcurrent: int(req.GetMaxConcurrentCalls()),
		MaxConcurrentPerTenant: s.Service.ProviderCallsPerTenant,
	}
	if config.MaxConcurrent == 0 {
		config.MaxConcurrent = s.Service.ProviderCalls
	}
	for _, m := range req.GetModels() {
		config.Models = append(config.Models, m.GetModel())
		config.Declared = append(config.Declared, endpoint.Model{
			Name: m.GetModel(), Dimension: int(m.GetDimension()), MaxTokens: int(m.GetMaxTokens()), Matryoshka: m.GetMatryoshka(),
			DocumentPrefix: m.GetDocumentPrefix(), QuestionPrefix: m.GetQuestionPrefix(),
		})
	}
	if err := endpoint.CheckName("endpointName", req.GetEndpointName()); err != nil {
		return nil, err
	}
	if _, ok := endpoint.Providers[req.GetEndpointName()]; ok {
		return nil, fmt.Errorf("endpointName: %s has settings of its own, such as %[1]s-base-url: take another name", req.GetEndpointName())
	}
	if !kind.Known() {
		return nil, fmt.Errorf("kind: must be one of %v, got %q", endpoint.Kinds, kind)
	}
	if config.BaseURL == "" && kind.PublicURL() == "" {
		return nil, fmt.Errorf("baseUrl: is needed for the kind %s", kind)
	}
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return endpoint.NewEndpoint(req.GetEndpointName(), kind, config), nil
}
