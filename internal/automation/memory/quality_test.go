package memory_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/long"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// tell stores memories and returns their ids.
func tell(t *testing.T, c servicetest.Client, memories []told) []string {
	t.Helper()
	ids := make([]string, len(memories))
	for i, m := range memories {
		req := &ragdv1.RememberRequest{Text: m.text, ValidFrom: timestamppb.New(m.from)}
		if m.updates >= 0 {
			req.Replaces = ids[m.updates]
		}
		ids[i] = remember(t, c, req).MemoryId
	}
	return ids
}

// Recall alone, without a chat model, answers questions over made-up conversations, and says when it knows nothing.
// The floors are a little below what was measured. A thousand memories take long.
func TestRecallFindsWhatWasTold(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	for _, c := range []struct {
		memories                int
		first, five, abstention float64 // at least
	}{
		{50, 0.92, 0.94, 0.78}, {200, 0.89, 0.95, 0.75}, {1000, 0.85, 0.91, 0.75},
	} {
		if c.memories > long.Rounds(2000) {
			continue
		}
		user := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
		memories, questions := conversations(c.memories)
		if c.memories > 50 && len(questions) < 100 {
			t.Fatalf("only %d questions", len(questions))
		}
		ids := tell(t, user, memories)
		asked, first, five, abstained := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
		for _, q := range questions {
			req := &ragdv1.RecallRequest{QueryText: q.question}
			if !q.at.IsZero() {
				req.AsOf = timestamppb.New(q.at)
			}
			res, err := user.Recall(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			kinds := []string{"all", q.kind}
			if q.answer < 0 {
				kinds[0] = "none"
			}
			for _, kind := range kinds {
				asked[kind]++
				if len(res.Memories) == 0 {
					abstained[kind]++
				}
				for n, m := range res.Memories {
					if q.answer >= 0 && m.MemoryId == ids[q.answer] {
						five[kind]++
						if n == 0 {
							first[kind]++
						}
					}
				}
			}
		}
		for _, kind := range strings.Fields("fact preference update past all") {
			t.Logf("%d memories, %s: %d questions, first %d, among five %d", len(memories), kind, asked[kind], first[kind], five[kind])
		}
		for _, kind := range strings.Fields("absent before none") {
			t.Logf("%d memories, %s: %d questions, nothing recalled %d", len(memories), kind, asked[kind], abstained[kind])
		}
		for what, at := range map[string]struct{ got, of, least float64 }{
			"first":             {float64(first["all"]), float64(asked["all"]), c.first},
			"among five":        {float64(five["all"]), float64(asked["all"]), c.five},
			"right abstentions": {float64(abstained["none"]), float64(asked["none"]), c.abstention},
		} {
			if at.got < at.least*at.of {
				t.Errorf("with %d memories, %s: %.0f of %.0f, want a share of %.2f", len(memories), what, at.got, at.of, at.least)
			}
		}
	}
}
