package chunk

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// goldenCase is a file of testdata/golden, whose README describes the fields.
type goldenCase struct {
	Strategy  string         `json:"strategy"`
	Params    map[string]any `json:"params"`
	InputFile string         `json:"input_file"`
	Compare   string         `json:"compare"`
	Quirks    []string       `json:"quirk_kinds"`
	Document  map[string]any `json:"document_metadata"`
	Chunks    []struct {
		Text     string         `json:"text"`
		Metadata map[string]any `json:"metadata"`
	} `json:"chunks"`
}

func readGolden(t *testing.T, name string) (goldenCase, string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "golden", name))
	if err != nil {
		t.Fatal(err)
	}
	var c goldenCase
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	input, err := os.ReadFile(filepath.Join("testdata", "golden", c.InputFile))
	if err != nil {
		t.Fatal(err)
	}
	return c, string(input)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) < 43 {
		t.Fatalf("%d golden files, error %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "errors.json" {
			continue
		}
		t.Run(strings.TrimSuffix(name, ".json"), func(t *testing.T) {
			t.Parallel()
			c, text := readGolden(t, name)
			raw := map[string]any{"strategy": c.Strategy}
			for k, v := range c.Params {
				raw[k] = v
			}
			opts, err := parseOptions(raw)
			if err != nil {
				t.Fatal(err)
			}
			chunks, err := Split(t.Context(), text, opts)
			if err != nil {
				t.Fatal(err)
			}
			switch c.Compare {
			case "all", "texts":
				compareGolden(t, c, chunks)
			case "sections":
				compareSections(t, c, chunks)
			case "invariants":
				if len(chunks) == 0 {
					t.Error("no chunks")
				}
			default:
				t.Fatalf("unknown way to compare %q", c.Compare)
			}
			for _, quirk := range c.Quirks {
				check, ok := invariants[quirk]
				if !ok {
					t.Fatalf("no invariant for %q", quirk)
				}
				check(t, text, opts, chunks)
			}
		})
	}
}

func compareGolden(t *testing.T, c goldenCase, chunks []Chunk) {
	t.Helper()
	var want, got []string
	for _, chunk := range c.Chunks {
		want = append(want, chunk.Text)
	}
	for _, chunk := range chunks {
		got = append(got, chunk.Text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("texts (-want +got):\n%s", diff)
	}
	if c.Compare == "texts" {
		return
	}
	for i, chunk := range chunks {
		// The reference copies the document's metadata to chunks; Split does not.
		want := map[string]any{}
		for k, v := range c.Chunks[i].Metadata {
			if _, ok := c.Document[k]; !ok {
				want[k] = v
			}
		}
		data, err := json.Marshal(chunk.Metadata)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if got == nil {
			got = map[string]any{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("metadata of chunk %d (-want +got):\n%s", i, diff)
		}
	}
}

// invariants has the checks that replace the comparison with reference output that has
// a known defect, by the name of the defect.
var invariants = map[string]func(t *testing.T, text string, opts Options, chunks []Chunk){
	"regex-source-in-text": checkSubstrings,
	"broken-surrogate":     checkSubstrings,
	"broken-utf8":          checkSubstrings,
	"separator-dropped":    checkCoverage,
	"data-loss":            checkNothingLost,
	"duplicated-text":      checkHTMLText,
	"double-escape":        checkLeaves,
	"oversize": func(t *testing.T, _ string, opts Options, chunks []Chunk) {
		t.Helper()
		for i, c := range chunks {
			if n := textspan.Units(c.Text); n > opts.MaxSize {
				t.Errorf("chunk %d has %d units, more than %d", i, n, opts.MaxSize)
			}
		}
	},
	"overlap-only-tail": func(t *testing.T, _ string, _ Options, chunks []Chunk) {
		t.Helper()
		if n := len(chunks); n > 1 && strings.HasSuffix(chunks[n-2].Text, chunks[n-1].Text) {
			t.Errorf("the last chunk %q only repeats the end of the one before", chunks[n-1].Text)
		}
	},
	"bad-start-index": func(t *testing.T, text string, _ Options, chunks []Chunk) {
		t.Helper()
		last := 0
		for i, c := range chunks {
			index, ok := c.Metadata["startIndex"].(int)
			if !ok || index < last || index != textspan.Units(text[:c.StartByte]) || !strings.HasPrefix(text[c.StartByte:], c.Text) {
				t.Errorf("chunk %d: startIndex %v after %d", i, c.Metadata["startIndex"], last)
			}
			last = index
		}
	},
}

func checkSubstrings(t *testing.T, text string, _ Options, chunks []Chunk) {
	t.Helper()
	for i, c := range chunks {
		if !strings.Contains(text, c.Text) {
			t.Errorf("chunk %d is not a part of the source: %q", i, c.Text)
		}
	}
}

// checkCoverage checks that the bounds of the chunks cover the text except white space.
// It does not read their texts, so it also works for strategies that rebuild texts.
func checkCoverage(t *testing.T, text string, _ Options, chunks []Chunk) {
	t.Helper()
	covered := 0
	for _, c := range chunks {
		if c.StartByte > covered {
			if start, end := textspan.Trim(text, covered, c.StartByte); start < end {
				t.Errorf("no chunk has %q at %d", text[start:end], start)
			}
		}
		covered = max(covered, c.EndByte)
	}
	if start, end := textspan.Trim(text, covered, len(text)); start < end {
		t.Errorf("no chunk has the end, %q at %d", text[start:end], start)
	}
}

// acceptedErrors has the calls that the reference rejects and Split accepts, with the
// reason.
var acceptedErrors = map[string]string{
	"unknown-option":          "size is an alias of maxSize",
	"overlap-default-too-big": "the default overlap follows a small maxSize",
	"semantic-overlap":        "the default overlap follows a small maxSize",
	"token-special":           "special tokens are ordinary text unless disallowedSpecial is given",
}

func TestGoldenErrors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/golden/errors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name, Strategy, Text string
			Params               map[string]any
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			raw := map[string]any{"strategy": c.Strategy}
			for k, v := range c.Params {
				raw[k] = v
			}
			opts, err := parseOptions(raw)
			if err == nil {
				_, err = Split(t.Context(), c.Text, opts)
			}
			if why, ok := acceptedErrors[c.Name]; ok {
				if err != nil {
					t.Errorf("refused with %q, although %s", err, why)
				}
				return
			}
			var e *fault.Error
			if !errors.As(err, &e) || e.Kind != fault.Invalid || len(e.Violations) == 0 {
				t.Fatalf("error %v, want an invalid one that names the option", err)
			}
			if slices.ContainsFunc(e.Violations, func(v fault.Violation) bool { return v.Field == "" || v.Reason == "" }) {
				t.Errorf("violations %+v", e.Violations)
			}
		})
	}
}
