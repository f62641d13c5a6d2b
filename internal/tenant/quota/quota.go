package quota

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
)

// Keys of a tenant's settings under which the operator may set a quota for the tenant, in
// place of the service's standard one.
const (
	MaxIndexes         = "maxIndexes"         // indexes
	RequestsPerSecond  = "requestsPerSecond"  // requests a second on one instance
	ConcurrentRequests = "concurrentRequests" // requests at once on one instance
	MaxDocuments       = "maxDocuments"       // stored documents, of all indexes and states
	MaxDocumentBytes   = "maxDocumentBytes"   // bytes of these, as they were uploaded
	MaxTokensPerMonth  = "maxTokensPerMonth"  // tokens of models in a calendar month of UTC
)

// DeletedRetention is the key of a tenant's settings that says how long its deleted documents, and the tenant itself
// once it is deleted, can be restored: a duration such as 720h, in place of the service's standard one; 0s for not at all.
const DeletedRetention = "deletedRetention"

// MaxDeletedRetention is the longest time for which deleted documents and tenants are kept.
const MaxDeletedRetention = 365 * 24 * time.Hour

// Limits are what a tenant may use by its settings and its plan: numbers are 0 where the service's standard ones hold.
// The settings win over the plan.
type Limits struct {
	Indexes            int
	RequestsPerSecond  int
	ConcurrentRequests int
	Documents, Bytes   int64 // that may be stored
	TokensPerMonth     int64
	Retention          time.Duration // of deleted documents: negative for none
	// Plan is the tenant's plan, nil for none. Do not change it.
	Plan *Plan
	// Contact is where the tenant gets a larger plan, for errors: an address, or empty.
	Contact string
}

// The largest numbers that settings may have as quotas.
const (
	maxQuota      = 1_000_000
	maxTokenQuota = 1_000_000_000_000 // also of documents
	maxByteQuota  = 1_000_000_000_000_000
)

// maxQuotas are the quotas with their largest numbers.
var maxQuotas = map[string]int64{
	MaxIndexes: maxQuota, RequestsPerSecond: maxQuota, ConcurrentRequests: maxQuota, MaxTokensPerMonth: maxTokenQuota,
	MaxDocuments: maxTokenQuota, MaxDocumentBytes: maxByteQuota,
}

// Keys returns the keys of all quotas, sorted.
func Keys() []string { return slices.Sorted(maps.Keys(maxQuotas)) }

// Check validates the quotas in a tenant's settings. A key that is nearly one of theirs is
// taken for a mistake. Errors: Invalid.
func Check(settings map[string]any) error {
	known := append(Keys(), DeletedRetention)
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if !slices.Contains(known, key) {
			if near := nearest.Name(key, known); near != "" {
				return fault.Field("settings."+key, "is not known; did you mean %s?", near)
			}
			continue
		}
		if value := settings[key]; key != DeletedRetention && of(settings, key) == 0 {
			return fault.Field("settings."+key, "must be a whole number from 1 to %d, got %v", maxQuotas[key], value)
		}
	}
	if value, has := settings[DeletedRetention]; has && retentionOf(settings) == 0 {
		return fault.Field("settings."+DeletedRetention, "must be a duration from 0s to %v such as 720h, got %v", MaxDeletedRetention, value)
	}
	return nil
}

// retentionOf returns the retention of deleted documents in settings: negative for 0s, and 0 if they have none that is valid.
func retentionOf(settings map[string]any) time.Duration {
	text, _ := settings[DeletedRetention].(string)
	retention, err := time.ParseDuration(text)
	switch {
	case err != nil || retention < 0 || retention > MaxDeletedRetention:
		return 0
	case retention == 0:
		return -1
	}
	return retention
}

// Kept returns how long what was deleted is kept with these limits, 0 for not at all.
func (l Limits) Kept(standard time.Duration) time.Duration {
	return max(0, cmp.Or(l.Retention, standard))
}

// Of returns what a tenant with these settings and this plan, nil for none, may use. contact is Limits.Contact.
func Of(settings map[string]any, plan *Plan, contact string) Limits {
	limit := func(key string) int64 {
		most, _ := limitOf(settings, plan, key)
		return most
	}
	return Limits{
		Indexes: int(limit(MaxIndexes)), RequestsPerSecond: int(limit(RequestsPerSecond)), ConcurrentRequests: int(limit(ConcurrentRequests)),
		Documents: limit(MaxDocuments), Bytes: limit(MaxDocumentBytes), TokensPerMonth: limit(MaxTokensPerMonth),
		Retention: cmp.Or(retentionOf(settings), retentionOf(plan.settings())),
		Plan:      plan, Contact: contact,
	}
}

// limitOf returns the limit of a quota in settings, else in a plan, nil for none, and where it comes from: 0 and FromDefault if it
// is in neither.
func limitOf(settings map[string]any, plan *Plan, key string) (int64, Source) {
	if own := of(settings, key); own > 0 {
		return own, FromSettings
	}
	if planned := of(plan.settings(), key); planned > 0 {
		return planned, FromPlan
	}
	return 0, FromDefault
}

// PlanName returns the name of the tenant's plan, empty for none.
func (l Limits) PlanName() string {
	if l.Plan == nil {
		return ""
	}
	return l.Plan.Name
}

// More says who raises a quota, for an error: "the operator raises maxDocuments in the tenant's settings".
func (l Limits) More(key string) string {
	if l.Plan == nil {
		return fmt.Sprintf("the operator raises %s in the tenant's settings", key) + l.contact()
	}
	return fmt.Sprintf("the operator raises %s in the tenant's settings or in its plan %q", key, l.Plan.Name) + l.contact()
}

// contact is the end of an error with Contact.
func (l Limits) contact() string {
	if l.Contact == "" {
		return ""
	}
	return "; for more, see " + l.Contact
}

// Source says where a limit comes from.
type Source string

// The sources of limits.
const (
	FromSettings Source = "settings" // of the tenant
	FromPlan     Source = "plan"
	FromDefault  Source = "default" // of the service
)

// Effective is a limit that holds for a tenant.
type Effective struct {
	Key    string
	Limit  int64 // 0 for none
	Source Source
}

// EffectiveOf returns all quotas of a tenant with these settings and this plan, nil for none, in the order of their
// keys. standard has those of the service, by key; what is missing there has no limit.
func EffectiveOf(settings map[string]any, plan *Plan, standard map[string]int64) []Effective {
	var all []Effective
	for _, key := range Keys() {
		most, source := limitOf(settings, plan, key)
		all = append(all, Effective{key, cmp.Or(most, standard[key]), source})
	}
	return all
}

// of returns the quota that settings have under a key, 0 if there is none.
func of(settings map[string]any, key string) int64 {
	number, ok := settings[key].(float64)
	if !ok || number != math.Trunc(number) || number < 1 || number > float64(maxQuotas[key]) {
		return 0
	}
	return int64(number)
}

// Indexes returns how many indexes a tenant with these settings may have, standard if they do not say it.
func Indexes(settings map[string]any, standard int) int {
	return cmp.Or(int(of(settings, MaxIndexes)), standard)
}
