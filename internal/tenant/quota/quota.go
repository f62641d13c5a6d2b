package quota

import (
	"cmp"
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

// DeletedRetention is the key of a tenant's settings that says how long deleted documents can be restored: a duration such as
// 720h, in place of the service's standard one; 0s for not at all.
const DeletedRetention = "deletedRetention"

// MaxDeletedRetention is the longest time for which deleted documents are kept.
const MaxDeletedRetention = 365 * 24 * time.Hour

// Limits are the limits on requests and uploads that a tenant's settings have, 0 for the standard ones.
type Limits struct {
	RequestsPerSecond  int
	ConcurrentRequests int
	Documents, Bytes   int64         // that may be stored
	Retention          time.Duration // of deleted documents: negative for none
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
	known := append(slices.Sorted(maps.Keys(maxQuotas)), DeletedRetention)
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

// Kept returns how long deleted documents are kept with these limits, 0 for not at all.
func (l Limits) Kept(standard time.Duration) time.Duration {
	return max(0, cmp.Or(l.Retention, standard))
}

// Of returns the quotas in the settings of a tenant.
func Of(settings map[string]any) Limits {
	return Limits{
		RequestsPerSecond: int(of(settings, RequestsPerSecond)), ConcurrentRequests: int(of(settings, ConcurrentRequests)),
		Documents: of(settings, MaxDocuments), Bytes: of(settings, MaxDocumentBytes),
		Retention: retentionOf(settings),
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
