package access

import (
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func TestEntriesAreSafeInSpreadsheets(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := writeAudit(&out, func(yield func(*ragdv1.AuditEntry, error) bool) {
		yield(&ragdv1.AuditEntry{Subject: "=HYPERLINK(1)", Issuer: "@SUM(A1)", RequestId: "+1", Object: map[string]string{"name": "-2\n\"x\""}}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `,1970-01-01T00:00:00Z,,,'=HYPERLINK(1),'@SUM(A1),,,"{""name"":""-2\n\""x\""""}",'+1,0,,,` + "\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}
