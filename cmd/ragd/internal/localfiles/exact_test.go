package localfiles

import "testing"

func TestMetadataOfALineKeepWholeNumbersOrAreRefused(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"id": "a", "text": "x", "metadata": {"n": 9007199254740993}}`:  "metadata.n: the whole number 9007199254740993 would be rounded, as only some beyond 9007199254740992 are kept exactly: write it as a string",
		`{"id": 9007199254740993, "text": "x", "metadata": {"n": 12.5}}`: "",
	} {
		got := ""
		doc, err := decodeLine([]byte(line))
		if err != nil {
			got = err.Error()
		}
		if got != want || err == nil && doc.URI != "9007199254740993" {
			t.Errorf("%s: %q, %q, want %q", line, doc.URI, got, want)
		}
	}
}
