package lexical

import "testing"

func TestUnframedQuestionsKeepWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"How long does the hub hold the climate, and what happens after that?": "  does the hub hold the climate, and   after that?",
		"how many long boards are there":                                       "  long boards are there",
		"Which kinds of cheese":                                                "  cheese",
		"show how longing feels":                                               "show how longing feels",
		"somehow long":                                                         "somehow long",
		"HOW MUCH":                                                             " ",
	} {
		if got := Unframed(question); got != want {
			t.Errorf("%q becomes %q, want %q", question, got, want)
		}
	}
}
