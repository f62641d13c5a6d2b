package jsonsplit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Each line of JSON Lines is split as a text of its own, with positions in the whole.
func TestJSONLinesAreSplitLineByLine(t *testing.T) {
	t.Parallel()
	text := `{"id": 1, "text": "High water"}` + "\r\n\n" + `{"id": 2, "parts": {"a": "` + strings.Repeat("slack ", 20) + `", "b": "tide"}}` + "\n" + `[3]`
	var got []string
	for _, c := range split(t, text, map[string]any{"maxSize": 80}) {
		got = append(got, c.Text)
		if source := text[c.StartByte:c.EndByte]; !strings.HasPrefix(source, `"id"`) && !strings.HasPrefix(source, `"parts"`) && !strings.HasPrefix(source, "slack") && source != "3" && !strings.HasPrefix(source, `"b"`) {
			t.Errorf("the chunk %q is at %q", c.Text, source)
		}
	}
	want := []string{`{"id":1,"text":"High water"}`, `{"parts":{"a":"` + strings.TrimRight(strings.Repeat("slack ", 10), "") + `"}}`}
	if diff := cmp.Diff(want[0], got[0]); diff != "" {
		t.Error(diff)
	}
	if got[len(got)-1] != `{"0":3}` && got[len(got)-1] != `[3]` {
		t.Errorf("the last line is %q", got[len(got)-1])
	}
	for _, c := range got {
		if strings.Contains(c, `"id":1`) && strings.Contains(c, `"id":2`) {
			t.Errorf("%q has values of two lines", c)
		}
	}
}

func TestABrokenLineOfJSONLinesIsNamed(t *testing.T) {
	t.Parallel()
	settings, err := chunk.ParseSettings([]byte(`{"strategy": "json", "maxSize": 50}`))
	if err != nil {
		t.Fatal(err)
	}
	options, err := settings.Options()
	if err != nil {
		t.Fatal(err)
	}
	_, err = chunk.Split(t.Context(), "{\"a\": 1}\n{\"b\": }\n", options)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "line 2 of JSON Lines, which is not valid JSON") {
		t.Errorf("error %v", err)
	}
}
