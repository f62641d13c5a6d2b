package rpc

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/policy"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// CreatePolicy implements PolicyService.
func (h *Handlers) CreatePolicy(ctx context.Context, req *ragdv1.CreatePolicyRequest) (*ragdv1.Policy, error) {
	made, err := h.Policies.Create(ctx, policy.Policy{Name: req.GetPolicyName(), Definition: policy.Definition{
		Description: req.GetDescription(), Tools: req.GetTools(), Phase: policy.Phase(req.GetPhase()), Condition: req.GetCondition(),
		Action: policy.Action(req.GetAction()), Message: req.GetMessage(), Redaction: redactionOf(req.GetRedaction()), Order: int(req.GetOrder()), Disabled: req.GetDisabled(),
	}})
	return policyMessage(made, err)
}

// GetPolicy implements PolicyService.
func (h *Handlers) GetPolicy(ctx context.Context, req *ragdv1.GetPolicyRequest) (*ragdv1.Policy, error) {
	return policyMessage(h.Policies.Get(ctx, req.GetPolicyName()))
}

// ListPolicies implements PolicyService.
func (h *Handlers) ListPolicies(ctx context.Context, req *ragdv1.ListPoliciesRequest) (*ragdv1.ListPoliciesResponse, error) {
	found, next, err := h.Policies.List(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	messages, err := convertAll(ctx, found, func(p policy.Policy) (*ragdv1.Policy, error) { return policyMessage(p, nil) })
	return &ragdv1.ListPoliciesResponse{Policies: messages, NextPageToken: next}, err
}

// UpdatePolicy implements PolicyService.
func (h *Handlers) UpdatePolicy(ctx context.Context, req *ragdv1.UpdatePolicyRequest) (*ragdv1.Policy, error) {
	return policyMessage(h.Policies.Update(ctx, req.GetPolicyName(), req.GetEtag(), func(d *policy.Definition) {
		for to, from := range map[*string]*string{&d.Description: req.Description, &d.Condition: req.Condition, &d.Message: req.Message} {
			if from != nil {
				*to = *from
			}
		}
		if len(req.GetTools()) > 0 {
			d.Tools = req.GetTools()
		}
		if req.Phase != nil {
			d.Phase = policy.Phase(req.GetPhase())
		}
		if req.Action != nil {
			if d.Action = policy.Action(req.GetAction()); d.Action != policy.Redact {
				d.Redaction = nil // that of the earlier action
			}
		}
		if req.Redaction != nil {
			d.Redaction = redactionOf(req.GetRedaction())
		}
		if req.Order != nil {
			d.Order = int(req.GetOrder())
		}
		if req.Disabled != nil {
			d.Disabled = req.GetDisabled()
		}
	}))
}

// DeletePolicy implements PolicyService.
func (h *Handlers) DeletePolicy(ctx context.Context, req *ragdv1.DeletePolicyRequest) (*ragdv1.DeletePolicyResponse, error) {
	return &ragdv1.DeletePolicyResponse{}, h.Policies.Delete(ctx, req.GetPolicyName())
}

// ExplainPolicies implements PolicyService.
func (h *Handlers) ExplainPolicies(ctx context.Context, req *ragdv1.ExplainPoliciesRequest) (*ragdv1.ExplainPoliciesResponse, error) {
	if _, err := access.RequireUnfiltered(ctx, access.Read); err != nil {
		return nil, err
	}
	if req.GetToolName() == "" {
		return nil, fault.Field("toolName", "is missing: ListTools with includeBuiltin lists the tools")
	}
	q := policy.Question{Server: req.GetServer(), IsError: req.GetResult().GetIsError()}
	var err error
	if q.Tool, err = h.Toolset.Find(ctx, toolset.View{}, req.GetToolName()); err != nil {
		return nil, err
	}
	if q.Arguments, err = rawObject(req.GetArguments()); err != nil {
		return nil, err
	}
	if given := req.GetResult(); given != nil {
		structured, err := rawObject(given.GetStructuredContent())
		if err != nil {
			return nil, err
		}
		q.Result = &toolset.Result{Structured: structured, Text: given.GetText()}
	}
	if req.GetCaller() != nil {
		raw, err := rawObject(req.GetCaller())
		if err != nil {
			return nil, err
		}
		value, err := schema.Decode(raw)
		if err != nil {
			return nil, fault.Field("caller", "%s", err)
		}
		q.Caller, _ = value.(map[string]any)
	}
	explained, err := h.Policies.Explain(ctx, q)
	if err != nil {
		return nil, err
	}
	return explanationMessage(explained, q.IsError)
}

// rawObject returns an object as JSON; nil for none.
func rawObject(object *structpb.Struct) (json.RawMessage, error) {
	if object == nil {
		return nil, nil
	}
	raw, err := jsonmessage.Append(nil, object)
	if err != nil {
		return nil, fmt.Errorf("read an object: %w", err)
	}
	return raw, nil
}

func explanationMessage(e policy.Explanation, isError bool) (*ragdv1.ExplainPoliciesResponse, error) {
	res := &ragdv1.ExplainPoliciesResponse{Outcome: string(e.Outcome), Message: e.Message}
	for _, d := range e.Decisions {
		res.Decisions = append(res.Decisions, &ragdv1.PolicyDecision{
			PolicyName: d.Policy.Name, Phase: string(d.Policy.Phase), Action: string(d.Policy.Action), Applies: d.Applies, Redacted: d.Redacted, Error: d.Error,
		})
	}
	var err error
	if res.Arguments, err = rawStruct(e.Arguments); err != nil || e.Result == nil {
		return res, err
	}
	res.Result = &ragdv1.PolicyResult{Text: e.Result.Text, IsError: isError}
	res.Result.StructuredContent, err = rawStruct(e.Result.Structured)
	return res, err
}

func redactionOf(given *ragdv1.PolicyRedaction) *policy.Redaction {
	if given == nil {
		return nil
	}
	return &policy.Redaction{Paths: given.GetPaths(), Patterns: given.GetPatterns(), Replacement: given.GetReplacement()}
}

func policyMessage(p policy.Policy, err error) (*ragdv1.Policy, error) {
	if err != nil {
		return nil, err
	}
	m := &ragdv1.Policy{
		PolicyName: p.Name, Description: p.Description, Tools: p.Tools, Phase: string(p.Phase), Condition: p.Condition, Action: string(p.Action), Message: p.Message,
		Order: int32(p.Order), Disabled: p.Disabled, CreateTime: timestamp(p.CreatedAt), UpdateTime: timestamp(p.UpdatedAt), Etag: p.ETag(),
	}
	if r := p.Redaction; r != nil {
		m.Redaction = &ragdv1.PolicyRedaction{Paths: r.Paths, Patterns: r.Patterns, Replacement: r.Replacement}
	}
	return m, nil
}
