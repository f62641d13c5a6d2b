package extract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	o := options(t, `{"model": "openai/a", "title": true, "summary": {"summaries": ["prev"], "model": "openai/b"}, "questions": {"questions": 3},
		"keywords": false, "schema": null}`)
	want := extract.Options{
		Title:     &extract.Title{Model: "openai/a", Nodes: 5},
		Summary:   &extract.Summary{Model: "openai/b", Prev: true},
		Questions: &extract.Questions{Model: "openai/a", Count: 3},
	}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Error(diff)
	}
	if o, err := (extract.Settings{}).Options(); err != nil || o != (extract.Options{}) {
		t.Error(o, err)
	}
}

// Stored settings decode to the settings that the caller sent.
func TestSettingsKeepTheirMeaningAsJSON(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{}`: `{}`,
		`{"model": "openai/m", "title": true, "keywords": false, "summary": null}`:                        `{"model":"openai/m","title":{}}`,
		`{"title": {"model": "", "nodes": 3}, "keywords": {"keywords": 7}}`:                               `{"title":{"model":"","nodes":3},"keywords":{"keywords":7}}`,
		`{"model": "openai/m", "summary": {"summaries": ["next"]}, "questions": {"embeddingOnly": true}}`: `{"model":"openai/m","summary":{"summaries":["next"]},"questions":{"embeddingOnly":true}}`,
		`{"schema": {"model": "openai/m", "schema": {"type": "object"}, "metadataKey": "facts"}}`:         `{"schema":{"model":"openai/m","schema":{"type":"object"},"metadataKey":"facts"}}`,
	} {
		settings, err := extract.ParseSettings([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		kept, err := json.Marshal(settings)
		if err != nil || string(kept) != want {
			t.Errorf("%s became %s, %v", raw, kept, err)
		}
		var again extract.Settings
		if err := json.Unmarshal(kept, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(settings, again, cmp.Transformer("compact", func(raw json.RawMessage) string { return compact(t, raw) })); diff != "" {
			t.Errorf("%s (-sent +kept):\n%s", raw, diff)
		}
	}
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	if raw == nil {
		return ""
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ raw, field string }{
		{`{"titel": true}`, "titel"},
		{`{"title": "yes"}`, "title"},
		{`{"title": {"llm": {}}}`, "title.llm"},
		{`{"title": {"nodes": 0}}`, "title.nodes"},
		{`{"title": {"nodes": 2.5}}`, "title.nodes"},
		{`{"title": {"combineTemplate": "the best"}}`, "title.combineTemplate"},
		{`{"model": 5}`, "model"},
		{`{"summary": true}`, "summary.model"},
		{`{"model": "openai/m", "summary": {"summaries": ["self", "all"]}}`, "summary.summaries[1]"},
		{`{"model": "openai/m", "summary": {"summaries": []}}`, "summary.summaries"},
		{`{"model": "openai/m", "summary": {"summaries": "self"}}`, "summary.summaries"},
		{`{"questions": {}}`, "questions.model"},
		{`{"model": "openai/m", "questions": {"questions": -1}}`, "questions.questions"},
		{`{"model": "openai/m", "questions": {"questions": "5"}}`, "questions.questions"},
		{`{"model": "openai/m", "questions": {"embeddingOnly": 1}}`, "questions.embeddingOnly"},
		{`{"keywords": {"keywords": 51}}`, "keywords.keywords"},
		{`{"keywords": {"promptTemplate": "` + strings.Repeat("x", 9000) + `{context}"}}`, "keywords.promptTemplate"},
		{`{"schema": {"schema": {"type": "object"}}}`, "schema.model"},
		{`{"model": "openai/m", "schema": true}`, "schema.schema"},
		{`{"model": "openai/m", "schema": {"schema": {"type": "array"}}}`, "schema.schema"},
		{`{"model": "openai/m", "schema": {"schema": {"type": "object", "properties": 5}}}`, "schema.schema"},
		{`{"model": "openai/m", "schema": {"schema": {"$ref": "file:///etc/passwd"}}}`, "schema.schema"},
		{`{"model": "openai/m", "schema": {"schema": {"$ref": "http://localhost/x"}}}`, "schema.schema"},
		{`{"model": "openai/m", "schema": {"schema": {"type": "object", "description": "` + strings.Repeat("x", 17000) + `"}}}`, "schema.schema"},
	} {
		settings, err := extract.ParseSettings([]byte(tc.raw))
		if err == nil {
			_, err = settings.Options()
		}
		var invalid *fault.Error
		if !errors.As(err, &invalid) || len(invalid.Violations) != 1 || invalid.Violations[0].Field != tc.field {
			t.Errorf("%.80s: %v, want a violation of %s alone", tc.raw, err, tc.field)
		}
	}
}

func TestModelsAreChecked(t *testing.T) {
	t.Parallel()
	extractor := extract.New(llm.New(llm.Config{}))
	if err := extractor.Check(t.Context(), "acme", options(t, `{"title": true, "keywords": true}`)); err != nil {
		t.Error(err)
	}
	if err := extractor.Check(t.Context(), "acme", options(t, `{"model": "openai/m", "title": true}`)); fault.KindOf(err) != fault.Precondition {
		t.Error(err)
	}
	if err := extractor.Check(t.Context(), "acme", options(t, `{"model": "m", "title": true}`)); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "extract.title") {
		t.Error(err)
	}
}
