package audit

import (
	"context"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

// maxDecisions is how many sums an instance writes of what the policies of a tenant did in a period. All further
// calls are one sum for each outcome, without caller, policy and tool.
const maxDecisions = 20

// decision is what a sum of calls is about that a policy decided about.
type decision struct {
	denial

	policy, tool string
}

// object returns the names that an entry has.
func (d decision) object() map[string]string {
	names := map[string]string{}
	for name, value := range map[string]string{"policyName": d.policy, "toolName": d.tool} {
		if value != "" {
			names[name] = value
		}
	}
	return names
}

// decisionMethod is the method of entries about decisions, whichever way a tool was called.
const decisionMethod = "ragd.v1.ToolService/CallTool"

// AddDecision counts a call of a tool, by the caller in ctx, about which a policy has decided. It does not block.
func (l *Log) AddDecision(ctx context.Context, policyName, toolName, outcome string) {
	r, ok := access.FromContext(ctx)
	if l == nil || !ok {
		return
	}
	client := ""
	if address := credential.ClientOf(ctx); address.IsValid() && !r.Principal.Has(access.Operator) {
		client = address.Unmap().String()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	of := denial{string(r.Tenant), r.Principal.Subject, client, decisionMethod, outcome}
	l.decide(decision{of, policyName, toolName}, 1, httpserver.RequestID(ctx))
}

// decide counts calls. The caller holds mu.
func (l *Log) decide(of decision, calls int, requestID string) {
	sum := l.decided[of]
	if sum == nil && l.ofTenant[of.tenant] >= maxDecisions {
		of = decision{denial: denial{tenant: of.tenant, method: of.method, outcome: of.outcome}}
		sum, requestID = l.decided[of], ""
	}
	if sum == nil {
		sum = &denials{requestID: requestID}
		l.decided[of] = sum
		l.ofTenant[of.tenant]++
	}
	sum.calls += calls
}
