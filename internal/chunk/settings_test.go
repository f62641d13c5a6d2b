package chunk

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// settingsOf converts a map to settings. A header or section may be a pair of marker
// and key, as in the golden cases.
func settingsOf(raw map[string]any) (Settings, error) {
	wire := map[string]any{}
	for name, value := range raw {
		pairs, ok := value.([]any)
		marker := map[string]string{"headers": "marker", "sections": "path"}[name]
		if !ok || marker == "" {
			wire[name] = value
			continue
		}
		objects := make([]any, len(pairs))
		for i, pair := range pairs {
			objects[i] = pair
			if pair, ok := pair.([]any); ok && len(pair) == 2 {
				objects[i] = map[string]any{marker: pair[0], "key": pair[1]}
			}
		}
		wire[name] = objects
	}
	text, err := json.Marshal(wire)
	if err != nil {
		return Settings{}, err
	}
	return ParseSettings(text)
}

func parseOptions(raw map[string]any) (Options, error) {
	s, err := settingsOf(raw)
	if err != nil {
		return Options{}, err
	}
	return s.Options()
}

func TestSettingsKeepTheirJSON(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{}`,
		`{"strategy":"markdown","maxSize":9,"stripHeaders":false}`,
		`{"size":0,"overlap":0,"separators":["a",""],"separator":"","keepSeparator":true}`,
		`{"separatorPosition":"end","keepSeparator":"start"}`,
		`{"allowedSpecial":["all"],"disallowedSpecial":["\u003c|endoftext|\u003e"]}`,
		`{"keepSeparator":false,"headers":[{"marker":"#","key":"a"}],"sections":[{"path":"h1","key":"b"}]}`,
	} {
		s, err := ParseSettings([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if s.String() != raw {
			t.Errorf("%s became %s", raw, s)
		}
		again, err := ParseSettings([]byte(s.String()))
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("%s read twice: %v, %v", raw, again, err)
		}
		if s.IsZero() != (raw == `{}`) {
			t.Errorf("%s: IsZero %v", raw, s.IsZero())
		}
	}
}

func TestAllStandsForAListOfSpecialTokens(t *testing.T) {
	t.Parallel()
	s, err := ParseSettings([]byte(`{"allowedSpecial": "all"}`))
	if err != nil || s.String() != `{"allowedSpecial":["all"]}` {
		t.Errorf("%s %v", s, err)
	}
}

func TestParseSettingsErrorsNameTheField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, field string }{
		{`{"strategy": 1}`, "strategy"},
		{`{"maxSize": 10.5}`, "maxSize"},
		{`{"maxSize": "10"}`, "maxSize"},
		{`{"overlap": 1e400}`, "overlap"},
		{`{"allowedSpecial": "<|endoftext|>"}`, "allowedSpecial"},
		{`{"disallowedSpecial": [1]}`, "disallowedSpecial"},
		{`{"stripWhitespace": "yes"}`, "stripWhitespace"},
		{`{"separators": "\n"}`, "separators"},
		{`{"separators": ["a", 1]}`, "separators"},
		{`{"headers": [["#", "a"]]}`, "headers"},
		{`{"keepSeparator": "middle"}`, "keepSeparator"},
		{`{"keepSeparator": {}}`, "keepSeparator"},
		{`{"foo": 1}`, "foo"},
	} {
		_, err := ParseSettings([]byte(c.raw))
		if fault.KindOf(err) != fault.Invalid || fieldOf(err) != c.field {
			t.Errorf("%s: %v, want a violation of %s", c.raw, err, c.field)
		}
	}
	for _, raw := range []string{``, `[]`, `1`, `{} {}`, `{`} {
		if _, err := ParseSettings([]byte(raw)); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestAnUploadsSettingsReplaceThoseOfTheIndex(t *testing.T) {
	t.Parallel()
	defaults := Settings{Strategy: Token, MaxSize: new(100)}
	if got := (Settings{}).Or(defaults); !reflect.DeepEqual(got, defaults) {
		t.Errorf("nothing given: %s", got)
	}
	given := Settings{Overlap: new(0)}
	if got := given.Or(defaults); !reflect.DeepEqual(got, given) {
		t.Errorf("an overlap given: %s", got)
	}
}

// The options of some strategy contain the JSON name of every setting.
func TestEverySettingBelongsToAStrategy(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, name := range commonOptions {
		known[name] = true
	}
	for _, names := range ownOptions {
		for _, name := range names {
			known[name] = true
		}
	}
	all := map[string]bool{}
	for _, name := range filled(t).names() {
		all[name] = true
	}
	if diff := cmp.Diff(known, all); diff != "" {
		t.Errorf("(-known to a strategy +field):\n%s", diff)
	}
}

// filled returns settings with a value in every field.
func filled(t *testing.T) Settings {
	t.Helper()
	var s Settings
	for field, v := range reflect.ValueOf(&s).Elem().Fields() {
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.String:
			v.SetString("x")
		default:
			t.Fatalf("field %s of kind %s", field.Name, v.Kind())
		}
	}
	return s
}
