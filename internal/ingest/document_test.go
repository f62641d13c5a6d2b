package ingest

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// A message that is not valid UTF-8 cannot be sent over gRPC at all.
func TestANotFoundErrorCutsTheNameBetweenCharacters(t *testing.T) {
	t.Parallel()
	for n := range 4 {
		message := fault.Public(Ref{URI: strings.Repeat("x", n) + strings.Repeat("€", 500)}.notFound())
		if strings.Contains(message, `\x`) || !utf8.ValidString(message) || len(message) > 300 {
			t.Errorf("got %s", message)
		}
	}
}
