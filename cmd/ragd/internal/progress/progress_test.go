package progress

import (
	"bytes"
	"errors"
	"testing"
)

func TestPrintsLinesWithoutATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := &lineMeter{out: &out} // due at once
	m.Retrying(errors.New("unavailable:\nno"))
	m.Retrying(errors.New("too soon for another line"))
	if got := out.String(); got != "trying again: unavailable: no\n" {
		t.Errorf("printed %q", got)
	}
}
