package tenant

import (
	"regexp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// FirstDatabase is the name that callers give the database with the control schema. Rows have an
// empty name for it.
const FirstDatabase = "main"

// ControlSchema is the schema of the service itself: tenants, API keys, backlog, job queue.
const ControlSchema = "ragd"

// SharedSchema has the functions and types of all tenants, and tables whose rows belong to
// one tenant each. Statements of a Handle name it as it is: ragd_shared.tools.
const SharedSchema = "ragd_shared"

// maxDisplayNameBytes bounds the display names of tenants and keys.
const maxDisplayNameBytes = 200

// CheckDisplayName checks the display name of a tenant or a key. Errors: Invalid, naming the field
// displayName.
func CheckDisplayName(name string) error {
	return textlimit.Check("displayName", name, maxDisplayNameBytes)
}

// MaxSettingsBytes bounds the JSON of the settings of a tenant and of a plan.
const MaxSettingsBytes = 16 << 10

// CheckPlanName checks the name of a plan. Errors: Invalid, naming the field planName.
func CheckPlanName(name string) error {
	if !idPattern.MatchString(name) {
		return fault.Field("planName", "must be 1 to 40 characters of a-z, 0-9 and -, the first a letter")
	}
	return nil
}

// MaxStores is how many names of its own a tenant may have for its vector store.
const MaxStores = 16

var storePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// CheckStore returns an error, naming the field, for what cannot be the name of a vector
// store. Errors: Invalid.
func CheckStore(field, name string) error {
	if !storePattern.MatchString(name) {
		return fault.Field(field, "must be 1 to 64 letters, digits, _, - and .")
	}
	return nil
}
