package jsonmessage

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
)

// packed returns numbers as clients send them in base64.
func packed(values []float32) string {
	var raw []byte
	for _, v := range values {
		raw = protowire.AppendFixed32(raw, math.Float32bits(v))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func TestVectorsAreListsOrBase64(t *testing.T) {
	t.Parallel()
	const numbers = `[1, -0.25, 3.4e38, 1e-45]`
	coded := `"` + packed([]float32{1, -0.25, 3.4e38, 1e-45}) + `"`
	for _, tc := range []struct {
		json string
		into proto.Message
	}{
		{`{"queryVector": %s, "topK": 3}`, &ragdv1.VectorQueryRequest{}},
		{`{"query_vector":%s}`, &ragdv1.GraphRagRequest{}},
		{`{"queryVector": "%s"}`, &ragdv1.VectorQueryRequest{}},
		{`{"entries": [{"id": "a"}, {"values": %s, "sparseValues": {"indices": [1, 2], "values": [1, 2]}}, {"id": "c", "values": %[1]s}]}`, &ragdv1.UpsertRequest{}},
		{`{"sparseVector": {"values": %s, "indices": [1, 2, 3, 4]}, "databaseConfig": {"pinecone": {"sparseVector": {"values": %[1]s}}}}`, &ragdv1.QueryRequest{}},
		{`{"metadata": {"queryVector": %s}}`, &ragdv1.UploadDocumentRequest{}},
	} {
		want, got := proto.Clone(tc.into), proto.Clone(tc.into)
		listed := fmt.Sprintf(strings.ReplaceAll(tc.json, `"%s"`, `%s`), numbers)
		if err := protojson.Unmarshal([]byte(listed), want); err != nil {
			t.Fatal(err)
		}
		texts := []string{listed}
		switch {
		case strings.Contains(tc.json, "metadata"): // free form stays as it is
		case strings.Contains(tc.json, `"%s"`): // the list as a text, as models write it
			texts = append(texts, fmt.Sprintf(tc.json, numbers))
		default:
			texts = append(texts, fmt.Sprintf(tc.json, coded))
		}
		for _, text := range texts {
			if err := Unmarshal([]byte(text), got); err != nil || !proto.Equal(got, want) {
				t.Errorf("%s: %v, %v, want %v", text, got, err, want)
			}
		}
	}
	for _, nothing := range []string{`""`, `[]`, `null`} {
		var got ragdv1.VectorQueryRequest
		if err := Unmarshal([]byte(`{"queryVector":`+nothing+`}`), &got); err != nil || got.QueryVector != nil {
			t.Errorf("%s: %v, %v", nothing, got.QueryVector, err)
		}
	}
}

// FuzzVectors says that messages are read as the decoder of the library reads them, if it does.
func FuzzVectors(f *testing.F) {
	for _, seed := range []string{
		`{"entries":[{"values":[1,2]},{"values":[]},{"values":null}]}`, `{"entries":[{"values":[1],"values":[2]}]}`, `{"entries":[null,{"values":[1e39]}]}`,
		`{"entries":[{"values":["NaN", 1]}],"indexName":"\u0061"}`, `{"entries":[[1],{"values":[0.5]}]} `, `{"\u0065ntries":[{"values":[1]}]}`, `{"entries":{"values":[1]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want ragdv1.UpsertRequest
		if protojson.Unmarshal(data, &want) != nil {
			_ = Unmarshal(data, &got) // accepts more
			return
		}
		if err := Unmarshal(data, &got); err == nil && fmt.Sprint(&got) != fmt.Sprint(&want) { // NaN is not equal to itself
			t.Errorf("%s: %v, want %v", data, &got, &want)
		}
	})
}

// BenchmarkVectors reads the message of a query with a vector: as the library reads numbers, as Unmarshal does, and base64.
func BenchmarkVectors(b *testing.B) {
	for _, dimension := range []int{384, 1536} {
		values := synthetic.Vectors(1+1536/384, 1)
		var one []float32
		for _, v := range values {
			one = append(one, v...)
		}
		for len(one) < dimension {
			one = append(one, one...)
		}
		one = one[:dimension]
		numbers, err := json.Marshal(one)
		if err != nil {
			b.Fatal(err)
		}
		for _, bc := range []struct {
			name, vector string
			read         func([]byte, proto.Message) error
		}{
			{"library", string(numbers), func(data []byte, into proto.Message) error { return protojson.Unmarshal(data, into) }},
			{"numbers", string(numbers), Unmarshal},
			{"base64", `"` + packed(one) + `"`, Unmarshal},
		} {
			text := []byte(`{"indexName":"bench","topK":10,"queryVector":` + bc.vector + `}`)
			b.Run(fmt.Sprintf("%s/dimension=%d", bc.name, dimension), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					var into ragdv1.QueryRequest
					if err := bc.read(text, &into); err != nil || len(into.QueryVector) != dimension {
						b.Fatal(len(into.QueryVector), err)
					}
				}
			})
		}
	}
}
