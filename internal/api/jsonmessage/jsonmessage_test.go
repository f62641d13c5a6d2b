package jsonmessage

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestErrorsNameTheFieldAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		json  string
		into  proto.Message
		field string // of the violation; "" for none
		want  string
	}{
		{`{"indexname":"a"}`, &ragdv1.VectorQueryRequest{}, "indexname", "indexname: is not known here; did you mean indexName?"},
		{`{"databaseConfig":{"pgvector":{"minscore":1}}}`, &ragdv1.VectorQueryRequest{}, "databaseConfig.pgvector.minscore", "databaseConfig.pgvector.minscore: is not known here; did you mean minScore?"},
		{`{"temperature":1}`, &ragdv1.GetJobRequest{}, "temperature", "temperature: is not known here; known are jobId"},
		{`{"entries":[{"id":"a"},{"valus":[1]}]}`, &ragdv1.UpsertRequest{}, "entries[1].valus", "entries[1].valus: is not known here; did you mean values?"},
		{`{"topK":"many"}`, &ragdv1.VectorQueryRequest{}, "topK", `topK: must be a whole number from -2147483648 to 2147483647, got "many"`},
		{`{"topK":1.5}`, &ragdv1.VectorQueryRequest{}, "topK", "topK: must be a whole number from -2147483648 to 2147483647, got 1.5"},
		{`{"topK":3000000000}`, &ragdv1.VectorQueryRequest{}, "topK", "topK: must be a whole number from -2147483648 to 2147483647, got 3000000000"},
		{`{"indexName":7}`, &ragdv1.VectorQueryRequest{}, "indexName", "indexName: must be a string, got 7"},
		{`{"indexName":{}}`, &ragdv1.VectorQueryRequest{}, "indexName", "indexName: must be a string, got an object"},
		{`{"queryVector":"0.1"}`, &ragdv1.VectorQueryRequest{}, "queryVector", `queryVector: must be a list of numbers, or base64 of their 32-bit floats in little-endian order, got "0.1"`},
		{`{"queryVector":"AACAPwA="}`, &ragdv1.VectorQueryRequest{}, "queryVector", `queryVector: must be a list of numbers, or base64 of their 32-bit floats in little-endian order, 4 bytes each: 5 bytes are no multiple of 4, got "AACAPwA="`},
		{`{"entries":[{"values":"AACAPw=="},{"values":"AACAPw"}]}`, &ragdv1.UpsertRequest{}, "entries[1].values", `entries[1].values: must be a list of numbers, or base64 of their 32-bit floats in little-endian order, got "AACAPw"`},
		{`{"queryVector":[1,"x"]}`, &ragdv1.VectorQueryRequest{}, "queryVector[1]", `queryVector[1]: must be a number, got "x"`},
		{`{"queryVector":[1,null]}`, &ragdv1.VectorQueryRequest{}, "queryVector[1]", `queryVector[1]: must be a number, got null`},
		{`{"databaseConfig":[]}`, &ragdv1.VectorQueryRequest{}, "databaseConfig", "databaseConfig: must be an object, got a list"},
		{`{"explain":"yes"}`, &ragdv1.VectorQueryRequest{}, "explain", `explain: must be true or false, got "yes"`},
		{`{"metadata":[1]}`, &ragdv1.UploadDocumentRequest{}, "metadata", "metadata: must be an object, got a list"},
		{`{"content":"%%%"}`, &ragdv1.UploadDocumentRequest{}, "content", `content: must be base64 in a string, got "%%%"`},
		{`{"text":"a","content":"YQ=="}`, &ragdv1.ChunkTextRequest{}, "content", "content: cannot be given together with text"},
		{`{"topK":1,"topK":2}`, &ragdv1.VectorQueryRequest{}, "topK", "topK: is given twice"},
		{`[]`, &ragdv1.VectorQueryRequest{}, "", "the message must be an object, got a list"},
		{`[1]`, &structpb.Struct{}, "", "the message must be an object, got a list"},
		{"{\"a\":1,\n  }", &ragdv1.VectorQueryRequest{}, "", "this is not valid JSON: line 2, column 3: invalid character '}' looking for beginning of object key string"},
		{`{"indexName":`, &ragdv1.VectorQueryRequest{}, "", "this is not valid JSON: line 1, column 13: it ends too early: a quote or a bracket is not closed"},
		{`{"team":`, &structpb.Struct{}, "", "this is not valid JSON: line 1, column 8: it ends too early: a quote or a bracket is not closed"},
		{`team=x`, &structpb.Struct{}, "", "this is not valid JSON: line 1, column 2: invalid character 'e' in literal true (expecting 'r')"},
		{"{\"indexName\":\"caf\xe9\"}", &ragdv1.VectorQueryRequest{}, "", "the JSON is not UTF-8: line 1, column 18: byte 0xE9: convert it first, for example with `iconv -f WINDOWS-1252 -t UTF-8`"},
	} {
		err := Unmarshal([]byte(tc.json), tc.into)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Message != tc.want {
			t.Errorf("%s: %v, want %s", tc.json, fault.Public(err), tc.want)
			continue
		}
		if tc.field == "" && len(f.Violations) > 0 || tc.field != "" && (len(f.Violations) != 1 || f.Violations[0].Field != tc.field) {
			t.Errorf("%s: the violations are %v, want %q", tc.json, f.Violations, tc.field)
		}
	}
}

func TestErrorsShowOnlyTheBeginningOfAValue(t *testing.T) {
	t.Parallel()
	err := Unmarshal([]byte(`{"topK":"`+strings.Repeat("x", 1000)+`"}`), &ragdv1.VectorQueryRequest{})
	if err == nil || len(fault.Public(err)) > 200 {
		t.Errorf("the error is %v", err)
	}
}

// Whatever protojson accepts is accepted, and every error has a message for the caller.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{`{"topK":"1e1"}`, `{"filter":{"a":[{}]}}`, `{"queryVector":["NaN",1e400]}`, `{"hybrid":{"fusion":null}}`, "{\"a\xff\":1}", `{"topK":`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := Unmarshal(data, &ragdv1.VectorQueryRequest{}); err != nil && (fault.KindOf(err) != fault.Invalid || fault.Public(err) == "") {
			t.Errorf("%q: %v", data, err)
		}
	})
}

func TestPairsStandForMessagesOfTwoStrings(t *testing.T) {
	t.Parallel()
	got, want := &ragdv1.ChunkTextRequest{}, &ragdv1.ChunkTextRequest{}
	if err := Unmarshal([]byte(`{"text":"a","metadata":{"a":[["x","y"]]},"chunking":{"maxSize":9,"headers":[["#","title"],{"marker":"##","key":"part"}],"sections":[["p","k"]]}}`), got); err != nil {
		t.Fatal(err)
	}
	if err := Unmarshal([]byte(`{"text":"a","metadata":{"a":[["x","y"]]},"chunking":{"maxSize":9,"headers":[{"marker":"#","key":"title"},{"marker":"##","key":"part"}],"sections":[{"path":"p","key":"k"}]}}`), want); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for json, want := range map[string]string{
		`{"chunking":{"headers":[["#"]]}}`:                   "chunking.headers[0]: must be an object, got a list",
		`{"chunking":{"headers":[["#","a"],["#","a","b"]]}}`: "chunking.headers[1]: must be an object, got a list",
		`{"chunking":{"headers":[["#",1]]}}`:                 "chunking.headers[0]: must be an object, got a list",
		`{"chunking":{"headers":[["#","a"]],"maxsize":1}}`:   "chunking.maxsize: is not known here; did you mean maxSize?",
		`{"entries":[["a","b"]]}`:                            "entries[0]: must be an object, got a list",
	} {
		into := proto.Message(&ragdv1.ChunkTextRequest{})
		if strings.Contains(json, "entries") {
			into = &ragdv1.UpsertRequest{}
		}
		if err := Unmarshal([]byte(json), into); fault.Public(err) != want {
			t.Errorf("%s: %q, want %q", json, fault.Public(err), want)
		}
	}
}
