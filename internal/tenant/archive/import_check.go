package archive

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

// readTenant keeps what the tenant's own row has, for the end.
func (p *progress) readTenant(columns []column, rows [][][]byte) error {
	if len(rows) != 1 || p.Rows[p.Section.key()] != 1 {
		return fault.New(fault.Invalid, "the archive must have one tenant")
	}
	kinds := pgtype.NewMap()
	for i, c := range columns {
		var err error
		switch c.Name {
		case "display_name":
			err = kinds.Scan(pgtype.TextOID, pgtype.BinaryFormatCode, rows[0][i], &p.Imported.DisplayName)
		case "settings":
			err = kinds.Scan(pgtype.JSONBOID, pgtype.BinaryFormatCode, rows[0][i], &p.Imported.Settings)
		case "vector_store_names":
			err = kinds.Scan(pgtype.TextArrayOID, pgtype.BinaryFormatCode, rows[0][i], &p.Imported.VectorStoreNames)
		case "created_at":
			err = kinds.Scan(pgtype.TimestamptzOID, pgtype.BinaryFormatCode, rows[0][i], &p.Imported.CreatedAt)
		}
		if err != nil {
			return fault.Wrap(fault.Invalid, err, "the archive has a tenant whose %s cannot be read", c.Name)
		}
	}
	return nil
}

// checkScopes returns an error for keys with rights that no key of a tenant can have. Errors: Invalid.
func checkScopes(columns []column, rows [][][]byte) error {
	at := slices.IndexFunc(columns, func(c column) bool { return c.Name == "scopes" })
	if at < 0 {
		return fault.New(fault.Invalid, "the archive has API keys without scopes")
	}
	kinds := pgtype.NewMap()
	for _, row := range rows {
		var scopes []string
		if err := kinds.Scan(pgtype.TextArrayOID, pgtype.BinaryFormatCode, row[at], &scopes); err != nil {
			return fault.Wrap(fault.Invalid, err, "the archive has API keys whose scopes cannot be read")
		}
		if err := credential.CheckImportedScopes(scopes); err != nil {
			return err
		}
	}
	return nil
}

// checkIssuers returns an error for issuers that CreateIssuer would refuse. all is how many issuers the archive has so far.
// Errors: Invalid.
func (s *Service) checkIssuers(columns []column, rows [][][]byte, all int64) error {
	kinds := pgtype.NewMap()
	for _, row := range rows {
		var i credential.OwnIssuer
		for n, c := range columns {
			var err error
			text := func(into *string) { err = kinds.Scan(pgtype.TextOID, pgtype.BinaryFormatCode, row[n], into) }
			switch c.Name {
			case "issuer_name":
				text(&i.Name)
			case "url":
				text(&i.URL)
			case "audiences":
				err = kinds.Scan(pgtype.TextArrayOID, pgtype.BinaryFormatCode, row[n], &i.Audiences)
			case "jwks_url":
				text(&i.JWKSURL)
			case "scope_claim":
				text(&i.ScopeClaim)
			case "scope_prefix":
				text(&i.ScopePrefix)
			case "scopes":
				var scopes []string
				err = kinds.Scan(pgtype.TextArrayOID, pgtype.BinaryFormatCode, row[n], &scopes)
				for _, scope := range scopes {
					i.Scopes = append(i.Scopes, access.Scope(scope))
				}
			case "filter_claim":
				text(&i.FilterClaim)
			case "bounds_claim":
				text(&i.BoundsClaim)
			}
			if err != nil {
				return fault.Wrap(fault.Invalid, err, "the archive has an issuer whose %s cannot be read", c.Name)
			}
		}
		if err := s.config.Credentials.CheckImportedIssuer(i, all); err != nil {
			return err
		}
	}
	return nil
}

// checkIndexes returns an error if an archive has more indexes than the tenant may have: as many as the settings in the archive
// say, or else Config.MaxIndexes. A tenant that wakes may have those that it had. Errors: Exhausted.
func (s *Service) checkIndexes(p progress) error {
	have, most := p.Rows[string(own)+"/indexes"], quota.Indexes(p.Imported.Settings, s.config.MaxIndexes)
	if have <= int64(most) || p.Header.Asleep {
		return nil
	}
	return fault.New(fault.Exhausted, "the archive has more than the %d indexes that the tenant may have: the operator sets more with the setting max-indexes", most).Of(quota.MaxIndexes)
}
