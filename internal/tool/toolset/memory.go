package toolset

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// memoryTools change nothing but what the caller alone sees. They need no scope write, and are listed only where
// a credential, a server or an agent names its tools.
var memoryTools = []string{"forget", "recall", "remember"}

// ofMemory reports whether the tool is about the caller's memories.
func (d Definition) ofMemory() bool { return slices.Contains(memoryTools, d.Kind) }

// listed reports whether a list has the tool for callers that name no tools.
func (d Definition) listed(bounds access.Bounds) bool {
	return !d.Builtin || !d.ofMemory() || bounds.Tools != nil
}

func rememberedText(_ *ragdv1.RememberRequest, m *ragdv1.Memory) string {
	if m.GetReplaces() != "" {
		return fmt.Sprintf("Remembered as %s, instead of %s.", m.GetMemoryId(), m.GetReplaces())
	}
	return fmt.Sprintf("Remembered as %s.", m.GetMemoryId())
}

func recalledText(_ *ragdv1.RecallRequest, res *ragdv1.RecallResponse) string {
	if len(res.GetMemories()) == 0 {
		return "Nothing is remembered about that."
	}
	return memoryLines(res.GetMemories())
}

func forgottenText(req *ragdv1.ForgetRequest, res *ragdv1.ForgetResponse) string {
	switch {
	case res.GetDeletedCount() == 0:
		return "There is nothing to forget."
	case req.GetDryRun():
		return fmt.Sprintf("%s would be erased; this was a dry run.\n%s", memories(res.GetDeletedCount()), memoryLines(res.GetMemories()))
	}
	return fmt.Sprintf("%s erased.", memories(res.GetDeletedCount()))
}

func memories(n int32) string {
	if n == 1 {
		return "1 memory"
	}
	return fmt.Sprintf("%d memories", n)
}

// memoryLines writes memories in a line each: id, text, and when it holds.
func memoryLines(all []*ragdv1.Memory) string {
	lines := make([]string, len(all))
	for n, m := range all {
		lines[n] = fmt.Sprintf("%s: %s (since %s", m.GetMemoryId(), oneLine(m.GetText()), day(m.GetValidFrom()))
		if m.GetValidUntil() != nil {
			lines[n] += ", until " + day(m.GetValidUntil())
		}
		lines[n] += ")"
	}
	return strings.Join(lines, "\n")
}

func day(t *timestamppb.Timestamp) string { return t.AsTime().Format(time.DateOnly) }
