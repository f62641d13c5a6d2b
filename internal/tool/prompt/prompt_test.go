package prompt

import (
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// A short prompt can name a long argument many times, in texts and in URIs.
func TestPromptsThatGrowAreRefused(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("{{arguments.a}}", 4000)
	for what, message := range map[string]Message{
		"a text":     {Text: many},
		"a link":     {Link: &Resource{URI: "ragd://" + many}},
		"a resource": {Resource: &Resource{URI: "ragd://" + many}},
	} {
		p := Prompt{Name: "grow", Definition: Definition{Arguments: []Argument{{Name: "a"}}, Messages: []Message{message}}}
		if err := p.complete(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.render(map[string]string{"a": "x"}, nil); err != nil {
			t.Errorf("%s with a short argument: %v", what, err)
		}
		_, err := p.render(map[string]string{"a": strings.Repeat("x", maxArgumentBytes)}, nil)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "the prompt has more than") {
			t.Errorf("%s: %.200v", what, err)
		}
	}
}
