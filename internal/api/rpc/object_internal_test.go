package rpc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
)

// objects are JSON texts in the form that PostgreSQL writes.
var objects = []string{
	`{}`,
	`{"half": 1, "tenth": 0, "share": -0.25, "large": 100000000000000000000, "small": 1.5e-10}`,
	`{"title": "Ünïcode “quotes”", "escaped": "a \"b\" \\ \n \u0001 /", "empty": "", "": 1}`,
	`{"yes": true, "no": false, "nothing": null}`,
	`{"list": [], "of": [1, "two", [3], {"four": null}], "in": {"one": {"another": {}}}}`,
	" {\n\t\"a\" : [ 1 , 2 ] \r} ",
}

func TestObjectReaderMatchesTheLibraries(t *testing.T) {
	t.Parallel()
	var r objectReader // one reader parses all of them
	for _, text := range objects {
		var fields map[string]any
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatal(err)
		}
		want, err := structpb.NewStruct(fields)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.read(text)
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

func TestInvalidObjectsAreRejected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, ` `, `null`, `[]`, `1`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{"a":}`, `{"a":[1`, `{"a":[1,]}`, `{"a" 1}`,
		`{"a":1 "b":2}`, `{a:1}`, `{"a":1}{}`, `{"a":"b}`, `{"a":"\`, `{"a":"\x"}`, `{"a":--1}`, `{"a":nul}`, `{"a":1e999}`,
	} {
		if got, err := new(objectReader).read(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func FuzzObjectReader(f *testing.F) {
	for _, text := range objects {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := new(objectReader).read(text) // must not panic
		var fields map[string]any
		if json.Unmarshal([]byte(text), &fields) != nil || fields == nil || strings.ContainsRune(text, '\uFFFD') {
			return
		}
		want, wrong := structpb.NewStruct(fields)
		if wrong != nil {
			return // not valid UTF-8, which PostgreSQL never returns
		}
		if err != nil || !proto.Equal(want, got) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	})
}

func BenchmarkObjectReader(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var r objectReader
		for range 10 {
			if _, err := r.read(`{"half": 1, "tenth": 7, "twentieth": 12, "hundredth": 61, "thousandth": 730}`); err != nil {
				b.Fatal(err)
			}
		}
	}
}
