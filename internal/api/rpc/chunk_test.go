package rpc_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// ChunkText returns the chunks of chunk.Split for each golden case of the splitter: all
// options and results survive the wire.
func TestChunkTextMatchesTheSplitter(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	const golden = "../../chunk/testdata/golden"
	files, err := filepath.Glob(golden + "/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if filepath.Base(file) == "errors.json" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			var tc struct {
				Strategy  string
				Params    map[string]any
				InputFile string         `json:"input_file"`
				Document  map[string]any `json:"document_metadata"`
			}
			readJSON(t, file, &tc)
			input, err := os.ReadFile(filepath.Join(golden, tc.InputFile))
			if err != nil {
				t.Fatal(err)
			}
			params := map[string]any{"strategy": tc.Strategy}
			maps.Copy(params, tc.Params)
			chunking := chunkingOf(t, params)
			want := splitDirectly(t, string(input), chunking)
			res, err := acme.ChunkText(t.Context(), &ragdv1.ChunkTextRequest{
				Source:   &ragdv1.ChunkTextRequest_Content{Content: input},
				Metadata: servicetest.Object(t, tc.Document), Chunking: chunking,
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Chunks) != len(want) {
				t.Fatalf("%d chunks, want %d", len(res.Chunks), len(want))
			}
			for i, c := range res.Chunks {
				metadata := maps.Clone(tc.Document)
				if metadata == nil {
					metadata = map[string]any{}
				}
				maps.Copy(metadata, want[i].Metadata)
				if c.Text != want[i].Text || int(c.StartByte) != want[i].StartByte || int(c.EndByte) != want[i].EndByte || int(c.TokenCount) != want[i].TokenCount {
					t.Errorf("chunk %d = %v, want %v", i, c, want[i])
				}
				if diff := cmp.Diff(servicetest.Object(t, normal(t, metadata)).AsMap(), c.Metadata.AsMap()); diff != "" {
					t.Errorf("metadata of chunk %d: %s", i, diff)
				}
			}
		})
	}
}

func splitDirectly(t *testing.T, text string, chunking *ragdv1.Chunking) []chunk.Chunk {
	t.Helper()
	raw, err := protojson.Marshal(chunking)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := chunk.ParseSettings(raw)
	if err != nil {
		t.Fatal(err)
	}
	options, err := settings.Options()
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := chunk.Split(t.Context(), text, options)
	if err != nil {
		t.Fatal(err)
	}
	return chunks
}

// chunkingOf converts options to a message, in which pairs of a marker and a key are
// objects.
func chunkingOf(t *testing.T, params map[string]any) *ragdv1.Chunking {
	t.Helper()
	wire := maps.Clone(params)
	for option, name := range map[string]string{"headers": "marker", "sections": "path"} {
		pairs, ok := params[option].([]any)
		if !ok {
			continue
		}
		objects := make([]any, len(pairs))
		for i, pair := range pairs {
			pair := pair.([]any)
			objects[i] = map[string]any{name: pair[0], "key": pair[1]}
		}
		wire[option] = objects
	}
	raw, err := json.Marshal(wire)
	if err != nil {
		t.Fatal(err)
	}
	out := &ragdv1.Chunking{}
	if err := protojson.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// normal converts numbers and lists to the types that encoding/json decodes them to.
func normal(t *testing.T, m map[string]any) (out map[string]any) {
	t.Helper()
	raw, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestChunkTextRefusesBadOptions(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	zero, hundred := int32(0), int32(100)
	for name, tc := range map[string]struct {
		chunking *ragdv1.Chunking
		field    string
	}{
		"an unknown strategy":               {&ragdv1.Chunking{Strategy: "paragraph"}, "chunking.strategy"},
		"a size of nothing":                 {&ragdv1.Chunking{Strategy: "recursive", MaxSize: &zero}, "chunking.maxSize"},
		"an overlap as large as the size":   {&ragdv1.Chunking{MaxSize: &hundred, Overlap: &hundred}, "chunking.overlap"},
		"another strategy's option":         {&ragdv1.Chunking{Strategy: "latex", Separators: []string{"x"}}, "chunking.separators"},
		"html without headers and sections": {&ragdv1.Chunking{Strategy: "html"}, "chunking.headers"},
		"json without a size":               {&ragdv1.Chunking{Strategy: "json"}, "chunking.maxSize"},
	} {
		_, err := acme.ChunkText(t.Context(), &ragdv1.ChunkTextRequest{
			Source: &ragdv1.ChunkTextRequest_Text{Text: "a"}, Chunking: tc.chunking,
		})
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
		if fieldOf(err) != tc.field {
			t.Errorf("%s blames %q, want %q: %v", name, fieldOf(err), tc.field, err)
		}
	}
	res, err := acme.ChunkText(t.Context(), &ragdv1.ChunkTextRequest{Source: &ragdv1.ChunkTextRequest_Text{Text: " \n"}})
	if err != nil || len(res.Chunks) != 0 {
		t.Errorf("a blank text = %v, %v", res, err)
	}
}

func TestCreatingAnIndexAgainRequiresEqualChunking(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	create := func(chunking *ragdv1.Chunking) (*ragdv1.Index, error) {
		return acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", Chunking: chunking})
	}
	cut := func() *ragdv1.Chunking {
		return &ragdv1.Chunking{
			Strategy: "markdown", MaxSize: new(int32(900)), KeepSeparator: structpb.NewBoolValue(true), StripHeaders: new(false),
			Headers: []*ragdv1.ChunkingHeader{{Marker: "#", Key: "title"}},
		}
	}
	for range 2 {
		made, err := create(cut())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(cut(), made.Chunking, protocmp.Transform()); diff != "" {
			t.Errorf("(-sent +kept):\n%s", diff)
		}
	}
	other := cut()
	other.MaxSize = new(int32(901))
	for name, chunking := range map[string]*ragdv1.Chunking{"another size": other, "no settings": nil} {
		_, err := create(chunking)
		servicetest.WantCode(t, name, err, connect.CodeAlreadyExists)
		if err != nil && !strings.Contains(err.Error(), `chunking is {"strategy":"markdown","maxSize":900,`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
