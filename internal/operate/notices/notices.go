// Package notices holds the licences of what the binary contains of others.
package notices

import _ "embed"

// Text lists the works of others in the binary and their licences. hack/notices writes it.
//
//go:embed THIRD_PARTY_NOTICES
var Text []byte
