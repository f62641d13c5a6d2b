package metadata

import (
	"strings"
	"testing"
)

func TestMarshal(t *testing.T) {
	t.Parallel()
	deep := func(levels int) map[string]any {
		m := map[string]any{}
		for range levels - 1 {
			m = map[string]any{"a": m}
		}
		return m
	}
	for _, tc := range []struct {
		name string
		in   map[string]any
		want string // of the JSON, or of the error
	}{
		{"nothing", nil, `{}`},
		{"an object", map[string]any{"a": []any{1.5, "x", nil}}, `{"a":[1.5,"x",null]}`},
		{"as deep as may be", deep(MaxDepth), strings.Repeat(`{"a":`, MaxDepth-1) + `{}` + strings.Repeat(`}`, MaxDepth-1)},
		{"too deep", deep(MaxDepth + 1), "metadata: is nested deeper than 32 levels"},
		{"too large", map[string]any{"a": strings.Repeat("x", MaxBytes)}, "metadata: is 65544 bytes of JSON, over the limit of 65536"},
		{"a null character", map[string]any{"a": "\x00"}, "metadata: contains a null character"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Marshal("metadata", tc.in)
			if err != nil {
				got = []byte(err.Error())
			}
			if string(got) != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
