package tenant

import (
	"context"
	"regexp"
	"slices"

	"github.com/ragdhq/ragd/internal/fault"
)

// VectorStoreNames is the key of a tenant's settings under which the operator lists the
// tenant's own names of its vector store.
const VectorStoreNames = "vectorStoreNames"

// maxStores is how many names of its own a tenant may have for its vector store.
const maxStores = 16

var storePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// CheckStore returns an error, naming the field, for what cannot be the name of a vector
// store. Errors: Invalid.
func CheckStore(field, name string) error {
	if !storePattern.MatchString(name) {
		return fault.Field(field, "must be 1 to 64 letters, digits, _, - and .")
	}
	return nil
}

// checkStores validates the names in a tenant's settings. Errors: Invalid.
func checkStores(value any) error {
	const field = "settings." + VectorStoreNames
	names, ok := value.([]any)
	if !ok || len(names) > maxStores {
		return fault.Field(field, "must be a list of at most %d names", maxStores)
	}
	for _, each := range names {
		name, _ := each.(string)
		if err := CheckStore(field, name); err != nil {
			return err
		}
	}
	return nil
}

// tenantSettings are the settings of a tenant that requests need.
type tenantSettings struct {
	quotas Quotas
	stores []string
}

func settingsOf(settings map[string]any) tenantSettings {
	known := tenantSettings{quotas: quotasOf(settings)}
	names, _ := settings[VectorStoreNames].([]any)
	for _, each := range names {
		if name, ok := each.(string); ok {
			known.stores = append(known.stores, name)
		}
	}
	return known
}

// WithStore returns a context whose request has one more name of the tenant's vector store.
func WithStore(ctx context.Context, name string) context.Context {
	r, ok := FromContext(ctx)
	if !ok || name == "" {
		return ctx
	}
	changed := *r
	changed.Stores = append(slices.Clip(r.Stores), name)
	return NewContext(ctx, &changed)
}
