package manifest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/expression"
)

func environment(t testing.TB) *expression.Environment {
	t.Helper()
	env, err := Environment(nil)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	env := environment(t)
	var record any
	decoder := json.NewDecoder(strings.NewReader(`{"id": 7, "name": "Tide", "tags": ["a", "b"], "owner": null, "open": false, "page": {"next": "x"}}`))
	decoder.UseNumber()
	if err := decoder.Decode(&record); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]any{
		"plain":                                      "plain",
		"{{ record.name }}-{{ record.id }}":          "Tide-7",
		"{{ record.tags }}":                          []any{"a", "b"},
		"tags: {{ record['tags'] }}":                 `tags: ["a","b"]`,
		"{{ record.owner.name }}":                    nil,
		"by {{ record.owner.name }}.":                "by .",
		"{{ record.get('missing') }}":                nil,
		"{{ record.get('page', {}).get('next') }}":   "x",
		"{{ record.get('none', {}).get('next') }}":   nil,
		"{{ record.get('none', 'd (e)') }}":          "d (e)",
		"{{ not record.open and record.id == 7 }}":   true,
		"{{ record.owner is none }}":                 true,
		"{{ record.name is not none or False }}":     true,
		"{{ 'not and is or none' }}":                 "not and is or none",
		"{{ record.android }}":                       nil,
		"{{ {'a': {'b': record.id}}['a']['b'] }}":    json.Number("7"),
		"{{ record.open ? 'yes }}' : 'no' }}":        "no",
		"{{ size(record.tags) > 1 ? 'many' : '1' }}": "many",
	} {
		parsed, err := parseTemplate(env, "text", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := parsed.Value(t.Context(), map[string]any{"record": record})
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s is %#v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"{{ a":                             "without }}",
		"{% if a %}":                       "not supported",
		"{{ record.a | lower }}":           "filters",
		"{{ record.a if b else c }}":       "a ? b : c",
		"{{ nobody.a }}":                   "nobody",
		"{{ record. }}":                    "no valid expression",
		"{{ format_datetime(record.at) }}": "format_datetime",
	} {
		if _, err := parseTemplate(env, "text", text); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	parsed, err := parseTemplate(env, "text", "{{ config.token }} {{ config['other'] }} {{ config.?maybe }}")
	if err != nil || !cmp.Equal(parsed.Config(), []string{"token", "other", "maybe"}) {
		t.Errorf("it names %v, %v", parsed.Config(), err)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 890_000_000, time.UTC)
	for format, want := range map[string]string{
		"%Y-%m-%dT%H:%M:%SZ": "2026-03-04T05:06:07Z", "%Y-%m-%d": "2026-03-04", "%s": "1772600767", "%ms": "1772600767890",
		"%s_as_float": "1772600767.890000", "%Y-%m-%dT%H:%M:%S.%f%z": "2026-03-04T05:06:07.890000+0000", "%d %b %y %%": "04 Mar 26 %",
	} {
		text := FormatTime(format, at)
		if text != want {
			t.Errorf("%s is %q", format, text)
		}
		back, ok := ParseTime([]string{format}, text)
		if !ok || back.After(at) || at.Sub(back) >= day {
			t.Errorf("%s: %q is read as %v, %v", format, text, back, ok)
		}
	}
	for _, text := range []string{"2026-03-04T05:06:07.89Z", "2026-03-04T06:06:07.89+01:00", "2026-03-04T05:06:07.890+0000"} {
		if back, ok := ParseTime([]string{"%s"}, text); !ok || !back.Equal(at) {
			t.Errorf("%q is %v, %v", text, back, ok)
		}
	}
	for text, want := range map[string]time.Duration{"P1D": day, "PT1H30M": 90 * time.Minute, "P1Y2M3W": (365 + 60 + 21) * day, "PT0.5S": time.Second / 2} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "P", "PT", "1D", "P1H", "P999999999999Y", "-P1D"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if _, err := layout("%Q"); err == nil {
		t.Error("an unknown directive is read")
	}
}

// small is a manifest in the style of Airbyte's builder, with parameters and references.
const small = `
type: DeclarativeSource
definitions:
  selector: {extractor: {type: DpathExtractor, field_path: ["{{ parameters.x }}"]}}
  stream:
    $parameters: {path: /items, name: items}
    primary_key: [[a, b], c]
    retriever:
      requester: {type: HttpRequester, url_base: "https://api.example.com", request_parameters: {kind: "{{ parameters['name'] }}"}}
      record_selector: {$ref: "#/definitions/selector"}
streams: ["#/definitions/stream"]
`

func TestParametersAndReferences(t *testing.T) {
	t.Parallel()
	m, err := Parse(environment(t), small)
	if err != nil {
		t.Fatal(err)
	}
	s := m.Streams[0]
	path, err := s.Requester.Path.Text(t.Context(), nil)
	if err != nil || s.Name != "items" || path != "/items" || !cmp.Equal(s.PrimaryKey, [][]string{{"a", "b"}, {"c"}}) {
		t.Errorf("stream %q at %q with key %v, %v", s.Name, path, s.PrimaryKey, err)
	}
	if kind, err := s.Requester.Parameters["kind"].Text(t.Context(), nil); err != nil || kind != "items" {
		t.Errorf("kind %q, %v", kind, err)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(small)
	f.Add("streams: [{$ref: '#/streams/0'}]")
	f.Add("a: &a [*a]\nstreams: *a")
	f.Add("streams: [{name: x, retriever: {requester: {url: 'http://x', request_body_json: {a: ['{{ record.a.get(\"b\", 1) }}']}}}}]")
	env := environment(f)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(env, text)
		if err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%v", err)
		}
		if err == nil && len(m.All()) == 0 {
			t.Error("a manifest without streams is read")
		}
	})
}
