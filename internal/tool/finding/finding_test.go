package finding_test

import (
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tool/finding"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for want, part := range map[string]*ragdv1.ResearchPart{
		"not found": {},
		"found: [1] > [3]": {Found: true, Passages: []int32{0, 2}, Relations: []*ragdv1.ResearchRelation{
			{Text: "owner", Stated: true},
		}},
		"not found: [2]; not stated: OWNER, BORN; nothing about: MILL": {Passages: []int32{1}, Missing: []string{"mill"}, Relations: []*ragdv1.ResearchRelation{
			{Text: "owner"}, {Text: "built", Stated: true}, {Text: "born"},
		}},
	} {
		if got := finding.Line(part, strings.ToUpper); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
