package mailbox_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/ingest/parse/mailbox"
)

const mark = "From ana@example.org Mon Jan  1 12:00:00 2024\n"

func TestMessages(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mailbox string
		want    []string
	}{
		"none":             {"", nil},
		"two":              {mark + "A: 1\n\nx\n\n" + mark + "B: 2\n\ny\n", []string{"A: 1\n\nx\n\n", "B: 2\n\ny\n"}},
		"quoted":           {mark + "A: 1\n\n>From here on\n", []string{"A: 1\n\nFrom here on\n"}},
		"a sentence":       {mark + "A: 1\n\nFrom Monday on it is open.\n", []string{"A: 1\n\nFrom Monday on it is open.\n"}},
		"no blank line":    {mark + "A: 1\n\nx\n" + mark, []string{"A: 1\n\nx\n" + mark}},
		"one is too large": {mark + "A: 1\n\n" + strings.Repeat("x", 200_000) + "\n\n" + mark + "B: 2\n", []string{"too large", "B: 2\n"}},
		"of Takeout":       {"From 17@xxx Mon Jan 01 12:00:00 +0000 2024\r\nA: 1\r\n\r\nx\r\n\r\nFrom 18@xxx Mon Jan 01 12:00:00 +0000 2024\r\nB: 2\r\n", []string{"A: 1\r\n\r\nx\r\n\r\n", "B: 2\r\n"}},
		"an empty message": {mark + "\n" + mark + "B: 2\n", []string{"\n", "B: 2\n"}},
	} {
		var got []string
		for message, err := range mailbox.Messages(strings.NewReader(tc.mailbox), 100_000) {
			switch {
			case errors.Is(err, mailbox.ErrTooLarge):
				got = append(got, "too large")
			case err != nil:
				t.Errorf("%s: %v", name, err)
			default:
				got = append(got, string(message))
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
