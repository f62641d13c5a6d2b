package jsonmessage

import (
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func TestWholeNumbersThatWouldBeRoundedAreRefused(t *testing.T) {
	t.Parallel()
	const reason = " would be rounded, as only some beyond 9007199254740992 are kept exactly: write it as a string"
	for text, want := range map[string]string{
		`{"metadata": {"n": 9007199254740993}}`:                                  "metadata.n: the whole number 9007199254740993" + reason,
		`{"metadata": {"a": {"b": [1, -12345678901234567]}}}`:                    "metadata.a.b[1]: the whole number -12345678901234567" + reason,
		`{"chunking": {"maxSize": 5}, "metadata": {"id": 18446744073709551615}}`: "metadata.id: the whole number 18446744073709551615" + reason,
		`{"metadata": {"n": 9007199254740992, "m": 10000000000000000}}`:          "",
		`{"metadata": {"n": "9007199254740993", "x": 0.12345678901234567890}}`:   "",
		`{"metadata": {"n": 1e300, "m": 9007199254740993.0}}`:                    "",
		`{"text": "9007199254740993"}`:                                           "",
	} {
		got := ""
		if err := Unmarshal([]byte(text), &ragdv1.UploadDocumentRequest{}); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	err := Unmarshal([]byte(`{"filter": {"n": {"$gt": 9007199254740993}}}`), &ragdv1.VectorQueryRequest{})
	if err == nil || !strings.HasPrefix(err.Error(), "filter.n.$gt: the whole number 9007199254740993") {
		t.Errorf("filter: %v", err)
	}
	if err := Unmarshal([]byte(`{"filter": "{\"n\": 9007199254740993}", "queryVector": [0.12345678901234567]}`), &ragdv1.VectorQueryRequest{}); err != nil {
		t.Errorf("a filter as a text: %v", err)
	}
}
