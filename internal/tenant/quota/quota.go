package quota

import (
	"cmp"
	"maps"
	"math"
	"slices"

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

// Limits are the limits on requests and uploads that a tenant's settings have, 0 for the standard ones.
type Limits struct {
	RequestsPerSecond  int
	ConcurrentRequests int
	Documents, Bytes   int64 // that may be stored
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

// Check validates the quotas in a tenant's settings. A key that is nearly one of theirs is
// taken for a mistake. Errors: Invalid.
func Check(settings map[string]any) error {
	known := slices.Sorted(maps.Keys(maxQuotas))
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if !slices.Contains(known, key) {
			if near := nearest.Name(key, known); near != "" {
				return fault.Field("settings."+key, "is not known; did you mean %s?", near)
			}
			continue
		}
		if value := settings[key]; of(settings, key) == 0 {
			return fault.Field("settings."+key, "must be a whole number from 1 to %d, got %v", maxQuotas[key], value)
		}
	}
	return nil
}

// Of returns the quotas in the settings of a tenant.
func Of(settings map[string]any) Limits {
	return Limits{
		RequestsPerSecond: int(of(settings, RequestsPerSecond)), ConcurrentRequests: int(of(settings, ConcurrentRequests)),
		Documents: of(settings, MaxDocuments), Bytes: of(settings, MaxDocumentBytes),
	}
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
