package tenant

import (
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// ID names a tenant: 1 to 40 characters of [a-z0-9-], the first a letter. A
// value of this type has been validated by ParseID or comes from the database.
type ID string

var idPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// ParseID validates a tenant id of a caller. Errors: Invalid.
func ParseID(s string) (ID, error) {
	if !idPattern.MatchString(s) {
		return "", fault.Field("tenantId", "must be 1 to 40 characters of a-z, 0-9 and -, the first a letter")
	}
	return ID(s), nil
}

// Schema returns the name of the tenant's schema and role.
func (id ID) Schema() string { return "tenant_" + string(id) }

// OfSchema returns the id of the tenant whose schema has this name; false if the name is
// not that of a tenant's schema.
func OfSchema(schema string) (ID, bool) {
	id, ok := strings.CutPrefix(schema, "tenant_")
	return ID(id), ok && idPattern.MatchString(id)
}

// Quoted returns the name of the schema and role as a quoted SQL identifier.
func (id ID) Quoted() string { return pgx.Identifier{id.Schema()}.Sanitize() }
