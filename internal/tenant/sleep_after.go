package tenant

import (
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// SleepAfterKey is the key of a tenant's settings that says how long the tenant is unused before it is put to sleep: a duration
// such as 720h, or never.
const SleepAfterKey = "sleepAfter"

const (
	// MinSleepAfter is the shortest time after which tenants are put to sleep.
	MinSleepAfter = 10 * time.Minute
	// MaxSleepAfter is the longest.
	MaxSleepAfter = 10 * 365 * 24 * time.Hour
	neverSleeps   = "never"
)

// SleepAfter returns how long a tenant with these settings is unused before it is put to sleep, 0 for ever. standard is for
// tenants whose settings do not say it.
func SleepAfter(settings map[string]any, standard time.Duration) time.Duration {
	value, has := settings[SleepAfterKey]
	if !has {
		return standard
	}
	after, _ := parseSleepAfter(value) // 0 for what was stored by other means
	return after
}

// CheckSleepAfter checks this key of settings. Errors: Invalid.
func CheckSleepAfter(settings map[string]any) error {
	value, has := settings[SleepAfterKey]
	if _, ok := parseSleepAfter(value); has && !ok {
		return fault.Field("settings."+SleepAfterKey, "must be %s, or a duration from %v to %v such as 720h, got %v", neverSleeps, MinSleepAfter, MaxSleepAfter, value)
	}
	return nil
}

func parseSleepAfter(value any) (time.Duration, bool) {
	text, _ := value.(string)
	if text == neverSleeps {
		return 0, true
	}
	after, err := time.ParseDuration(text)
	if err != nil || after < MinSleepAfter || after > MaxSleepAfter {
		return 0, false
	}
	return after, true
}
