package subprocess

import (
	"fmt"
	"testing"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// A child uses one processor, behind the service and its database.
func TestAChildYieldsToOtherProcesses(t *testing.T) {
	t.Parallel()
	nice, err := lowered()
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(t, Config{Processes: 1})
	d, err := p.Parse(t.Context(), "acme", parse.Source{Content: []byte("%PDF-1.7\n"), FileName: "priority"})
	if want := fmt.Sprint(1, map[string]bool{fmt.Sprint(nice): true}); err != nil || d.Text != want {
		t.Errorf("processors and priorities are %q, want %q; %v", d.Text, want, err)
	}
}
