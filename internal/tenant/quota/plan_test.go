package quota_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

func TestSettingsWinOverThePlanAndThePlanOverTheDefault(t *testing.T) {
	t.Parallel()
	plan := &quota.Plan{Name: "starter", Settings: map[string]any{"maxDocuments": 1000.0, "requestsPerSecond": 7.0}}
	standard := map[string]int64{quota.MaxIndexes: 200, quota.RequestsPerSecond: 5000}
	for _, c := range []struct {
		name     string
		settings map[string]any
		plan     *quota.Plan
		key      string
		limit    int64
		source   quota.Source
	}{
		{"of the tenant, over the plan", map[string]any{"maxDocuments": 5.0}, plan, quota.MaxDocuments, 5, quota.FromSettings},
		{"of the tenant, higher than the plan", map[string]any{"maxDocuments": 5000.0}, plan, quota.MaxDocuments, 5000, quota.FromSettings},
		{"of the tenant, without a plan", map[string]any{"maxDocuments": 5.0}, nil, quota.MaxDocuments, 5, quota.FromSettings},
		{"of the plan", nil, plan, quota.MaxDocuments, 1000, quota.FromPlan},
		{"of the plan, beside other settings", map[string]any{"maxIndexes": 3.0}, plan, quota.RequestsPerSecond, 7, quota.FromPlan},
		{"of the plan, with settings that are no quota", map[string]any{"maxDocuments": "many"}, plan, quota.MaxDocuments, 1000, quota.FromPlan},
		{"of the service", nil, plan, quota.MaxIndexes, 200, quota.FromDefault},
		{"of the service, without a plan", nil, nil, quota.RequestsPerSecond, 5000, quota.FromDefault},
		{"none", nil, plan, quota.MaxTokensPerMonth, 0, quota.FromDefault},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := quota.EffectiveOf(c.settings, c.plan, standard)
			if want := (quota.Effective{Key: c.key, Limit: c.limit, Source: c.source}); !slices.Contains(all, want) {
				t.Errorf("got %v, want %v among them", all, want)
			}
			if len(all) != len(quota.Keys()) {
				t.Errorf("got %d quotas of %d", len(all), len(quota.Keys()))
			}
		})
	}
	limits := quota.Of(map[string]any{"maxDocuments": 5.0}, plan, "")
	if limits.Documents != 5 || limits.RequestsPerSecond != 7 || limits.Bytes != 0 || limits.Plan != plan {
		t.Errorf("the limits are %+v", limits)
	}
}

func TestWhatThePlanDoesNotHaveIsDenied(t *testing.T) {
	t.Parallel()
	plan := &quota.Plan{Name: "starter", Without: []quota.Feature{quota.Agents}, Models: []string{"openai/small"}}
	limits := quota.Of(nil, plan, "https://example.com/plans")
	same := func(pattern, name string) bool { return pattern == name }
	for what, err := range map[string]error{"the feature agents": limits.Check(quota.Agents), `the model "openai/large"`: limits.CheckModel("openai/large", same)} {
		if fault.KindOf(err) != fault.Denied {
			t.Fatalf("%s: %v", what, err)
		}
		for _, part := range []string{what, `"starter"`, "https://example.com/plans"} {
			if !strings.Contains(fault.Public(err), part) {
				t.Errorf("%q lacks %q", fault.Public(err), part)
			}
		}
	}
	for what, err := range map[string]error{
		"a feature of the plan":        limits.Check(quota.Workflows),
		"a model of the plan":          limits.CheckModel("openai/small", same),
		"a feature, without a plan":    quota.Of(nil, nil, "").Check(quota.Agents),
		"a model, of a plan for all":   quota.Of(nil, &quota.Plan{Name: "all"}, "").CheckModel("openai/large", same),
		"a feature, of a plan for all": quota.Of(nil, &quota.Plan{Name: "all"}, "").Check(quota.Connectors),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestErrorsSayWhereMoreIs(t *testing.T) {
	t.Parallel()
	plan := &quota.Plan{Name: "starter"}
	for want, limits := range map[string]quota.Limits{
		"the operator raises maxIndexes in the tenant's settings":                                                         quota.Of(nil, nil, ""),
		`the operator raises maxIndexes in the tenant's settings or in its plan "starter"`:                                quota.Of(nil, plan, ""),
		`the operator raises maxIndexes in the tenant's settings or in its plan "starter"; for more, see sales@a.example`: quota.Of(nil, plan, "sales@a.example"),
	} {
		if got := limits.More(quota.MaxIndexes); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
