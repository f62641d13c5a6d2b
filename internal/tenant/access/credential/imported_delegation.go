package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of the stored delegations of an imported tenant.
const (
	maxDelegationBytes = 1 << 20
	delegationBatch    = 50 // rows that are read at once
)

// DelegationColumn is a JSON column with delegations, in a table with rows of all tenants.
type DelegationColumn struct {
	Table   string // with its schema
	Key     string // column that tells the rows of a tenant apart
	KeyType string // type of Key
	Column  string // null in rows without a delegation
}

// MoveDelegations makes the stored delegations of an imported tenant act for the transaction's tenant alone. It
// replaces the operator's rights by those of an admin. It stores each delegation as Go decodes it, so
// that nothing else of the archive's JSON is left. Errors: Invalid for a delegation that cannot be decoded.
func MoveDelegations(ctx context.Context, tx *data.Tx, in DelegationColumn) error {
	type stored struct {
		Key   string
		Value *string // nil if it is too large
	}
	read := fmt.Sprintf(`
		SELECT %[2]s::text AS key, CASE WHEN octet_length(%[4]s::text) <= %[5]d THEN %[4]s::text END AS value FROM %[1]s
		WHERE %[4]s IS NOT NULL AND ($1::text IS NULL OR %[2]s > $1::text::%[3]s) ORDER BY %[2]s LIMIT %[6]d`,
		in.Table, in.Key, in.KeyType, in.Column, maxDelegationBytes, delegationBatch)
	write := fmt.Sprintf(`
		UPDATE %[1]s AS t SET %[4]s = v.value::json FROM unnest($1::text[], $2::text[]) AS v (key, value) WHERE t.%[2]s = v.key::%[3]s`,
		in.Table, in.Key, in.KeyType, in.Column)
	for after := (*string)(nil); ; {
		found, err := data.Select[stored](ctx, tx, read, after)
		if err != nil || len(found) == 0 {
			return err
		}
		keys, values := make([]string, len(found)), make([]string, len(found))
		for i, s := range found {
			if s.Value == nil {
				return fault.New(fault.Invalid, "the archive has rights in %s of more than %d bytes", in.Table, maxDelegationBytes)
			}
			moved, err := moveDelegation(*s.Value, tx.Tenant())
			if err != nil {
				return fault.Wrap(fault.Invalid, err, "the archive has rights in %s that cannot be read", in.Table)
			}
			keys[i], values[i] = s.Key, moved
		}
		if _, err := tx.Exec(ctx, write, keys, values); err != nil {
			return err
		}
		after = &keys[len(keys)-1]
	}
}

// moveDelegation returns the JSON of a delegation that acts for a tenant, without the rights of an operator.
func moveDelegation(text string, to tenant.ID) (string, error) {
	var d *access.Delegation
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return "", err
	}
	if d == nil {
		return "", errors.New("a delegation is null")
	}
	if d.Tenant = to; d.Home != "" {
		d.Home = to
	}
	for _, scope := range d.Scopes {
		if !scope.Valid() {
			return "", fmt.Errorf("a delegation has the scope %q", scope)
		}
	}
	if slices.Contains(d.Scopes, access.Operator) {
		d.Scopes = []access.Scope{access.Admin}
	}
	d.Depth = max(d.Depth, 0) // it bounds how deep calls nest
	raw, err := json.Marshal(d)
	return string(raw), err
}
