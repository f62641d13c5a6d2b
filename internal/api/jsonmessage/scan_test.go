package jsonmessage

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestMembersReportsRangesOfValues(t *testing.T) {
	t.Parallel()
	const given = ` { "a" : [1, {"b":"}"}] ,"b":"\"\u00e9", "c":-1.5e+3,"d":{}} `
	var got []string
	whole := Members([]byte(given), func(name []byte, begin, end int) bool {
		got = append(got, string(name)+"="+given[begin:end])
		return true
	})
	want := []string{`a=[1, {"b":"}"}]`, `b="\"\u00e9"`, `c=-1.5e+3`, `d={}`}
	if !whole || !slices.Equal(got, want) {
		t.Errorf("%t, %q", whole, got)
	}
}

func TestMembersRejectsWhatNeedsMoreCare(t *testing.T) {
	t.Parallel()
	for _, given := range []string{
		``, `[]`, `{"a":1}x`, `{"a":01}`, `{"a":1,}`, `{"a":"` + "\n" + `"}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":+1}`, `{"a":.5}`, `{"a":1.}`,
		`{"\u0061":1}`, `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, `{"a":tru}`, `{"a"`, `{"a":`, `{"a":"\`, `{"a":"\u1`,
	} {
		if Members([]byte(given), func([]byte, int, int) bool { return true }) {
			t.Errorf("%q is accepted", given)
		}
	}
}

func TestFloatsAreThoseOfTheDecoder(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][]float32{
		`[0.1,-2e-7, 3 ]`: {0.1, -2e-7, 3}, `[1]`: {1}, `[3.4028234e38]`: {3.4028234e38}, `[16777217]`: {16777217},
		`[]`: nil, `[1,]`: nil, `[1e39]`: nil, `["1"]`: nil, `[01]`: nil, `[1,2,3,4,5]`: nil, `[1 2]`: nil, `[[1]]`: nil, `[1],[2]`: nil, `[NaN]`: nil,
	} {
		got, ok := Floats([]byte(given), 4)
		if ok != (want != nil) || ok && !slices.Equal(got, want) {
			t.Errorf("%s: %v, %t", given, got, ok)
		}
	}
}

func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"}"}],"b":"\"\u00e9","c":-1.5e+3,"d":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		joined := []byte{'{'}
		if !Members(data, func(name []byte, begin, end int) bool {
			if len(joined) > 1 {
				joined = append(joined, ',')
			}
			joined = append(append(append(append(joined, '"'), name...), `":`...), data[begin:end]...)
			return true
		}) {
			return
		}
		joined = append(joined, '}')
		var plain bytes.Buffer
		if err := json.Compact(&plain, data); err != nil {
			t.Fatalf("%q is not valid: %v", data, err)
		}
		var again bytes.Buffer
		if err := json.Compact(&again, joined); err != nil || again.String() != plain.String() {
			t.Errorf("%q became %q: %v", data, joined, err)
		}
	})
}

func FuzzFloats(f *testing.F) {
	f.Add([]byte(`[0.1,-2e-7, 3 ]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := Floats(data, 100)
		var want []float32
		if err := json.Unmarshal(data, &want); ok && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("%q: %v, %v, %v", data, got, want, err)
		}
	})
}
