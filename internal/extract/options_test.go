package extract_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/extract"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/llm"
)

func TestParseOptions(t *testing.T) {
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
	if o, err := extract.ParseOptions(nil); err != nil || o != (extract.Options{}) {
		t.Error(o, err)
	}
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
		var raw map[string]any
		if err := json.Unmarshal([]byte(tc.raw), &raw); err != nil {
			t.Fatal(err)
		}
		_, err := extract.ParseOptions(raw)
		var invalid *fault.Error
		if !errors.As(err, &invalid) || len(invalid.Violations) != 1 || invalid.Violations[0].Field != tc.field {
			t.Errorf("%.80s: %v, want a violation of %s alone", tc.raw, err, tc.field)
		}
	}
}

func TestModelsAreChecked(t *testing.T) {
	t.Parallel()
	extractor := extract.New(llm.New(llm.Config{}))
	if err := extractor.Check(options(t, `{"title": true, "keywords": true}`)); err != nil {
		t.Error(err)
	}
	if err := extractor.Check(options(t, `{"model": "openai/m", "title": true}`)); fault.KindOf(err) != fault.Precondition {
		t.Error(err)
	}
	if err := extractor.Check(options(t, `{"model": "m", "title": true}`)); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "extract.title") {
		t.Error(err)
	}
}
