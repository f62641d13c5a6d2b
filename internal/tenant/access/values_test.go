package access

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// filled returns a request with declared keys, as the edge makes it.
func filled(t *testing.T, p Principal, header http.Header, keys ...*ContextKey) (*Request, error) {
	t.Helper()
	own := make([]*ContextKey, len(keys)) // tests run at the same time
	for i, k := range keys {
		own[i] = new(*k)
		if err := own[i].Compile(); err != nil {
			t.Fatal(err)
		}
	}
	r := &Request{Principal: p, Tenant: "acme"}
	return r, r.Fill(own, header)
}

func parsed(t *testing.T, text string) filter.Filter {
	t.Helper()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var declaredKeys = []*ContextKey{
	{Name: "country", Source: FromCaller, Schema: json.RawMessage(`{"enum": ["de", "fr"]}`), Default: "de"},
	{Name: "groups", Source: FromClaim, From: "realm.groups", Schema: json.RawMessage(`{"type": "array"}`)},
	{Name: "team", Source: FromAttribute, From: "team", Default: "none"},
	{Name: "region", Source: Constant, Default: "eu"},
	{Name: "level", Source: FromHeader, From: "X-Level", Schema: json.RawMessage(`{"type": "integer"}`)},
	{Name: "pin", Source: Constant, Default: "1234", Secret: true},
}

func TestValuesComeFromTheirSources(t *testing.T) {
	t.Parallel()
	p := Principal{Subject: "user:ann", Claims: map[string]any{
		"realm": map[string]any{"groups": []any{"hr"}}, "https://x.example/org.id": "7", "sub": "ann",
	}, Attributes: map[string]any{"team": "red"}}
	r, err := filled(t, p, http.Header{"X-Level": {"3"}}, declaredKeys...)
	if err != nil {
		t.Fatal(err)
	}
	given, err := ParseOverrides([]byte(`{"country": "fr", "topK": 4}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.Overrides, err = r.Accept(OriginHeader, given); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"context.country": `"fr"`, "context.groups": `["hr"]`, "context.team": `"red"`, "context.region": `"eu"`, "context.level": `3`,
		"context.topK": `4`, "context.pin": `"1234"`, "claims.https://x.example/org.id": `"7"`, "claims.realm.groups": `["hr"]`,
		"key.team": `"red"`, "tenant": `"acme"`, "subject": `"user:ann"`,
		"server": ``, "context.absent": ``, "claims.absent": ``, "claims": ``, "secrets.pin": ``, "tenant.x": ``, "context.country.x": ``,
	} {
		value, ok := r.Lookup(path)
		raw, _ := json.Marshal(value)
		if ok != (want != "") || ok && string(raw) != want {
			t.Errorf("%s: %s, %v, want %s", path, raw, ok, want)
		}
	}
	var shown strings.Builder
	for _, v := range r.Context() {
		raw, _ := json.Marshal(v.Value)
		shown.WriteString(v.Name + " " + string(raw) + " " + v.Origin + "\n")
	}
	const want = "country \"fr\" header Ragd-Context\ngroups [\"hr\"] claim realm.groups\nlevel 3 header X-Level\n" +
		"pin null constant\nregion \"eu\" constant\nteam \"red\" attribute team\ntopK 4 header Ragd-Context\n"
	if shown.String() != want {
		t.Errorf("explained as\n%s", shown.String())
	}
}

// What a caller cannot set, it cannot set under another name either.
func TestCallersCannotPretend(t *testing.T) {
	t.Parallel()
	r, err := filled(t, Principal{}, http.Header{}, declaredKeys...)
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]fault.Kind{
		`{"groups": ["hr"]}`: fault.Denied, `{"team": "red"}`: fault.Denied, `{"region": "us"}`: fault.Denied, `{"level": 9}`: fault.Denied,
		`{"pin": "1"}`: fault.Denied, `{"claims": {"groups": ["hr"]}}`: fault.Invalid, `{"claims.groups": ["hr"]}`: fault.Invalid,
		`{"Claims": 1}`: fault.Invalid, `{"key": {}}`: fault.Invalid, `{"tenant": "bolt"}`: fault.Invalid, `{"subject": "x"}`: fault.Invalid,
		`{"server": "x"}`: fault.Invalid, `{"secrets": {}}`: fault.Invalid, `{"ｇroups": 1}`: fault.Invalid, `{"Groups": 1}`: fault.Invalid,
		`{"context.groups": 1}`: fault.Invalid, `{"context": {"groups": 1}}`: fault.Invalid, `{"country": "de", "country": "fr"}`: fault.Invalid,
		`{"country": "us"}`: fault.Invalid, `{"country": ["de"]}`: fault.Invalid, `{"gr\u006fups": 1}`: fault.Denied, `{"groups ": 1}`: fault.Invalid,
	} {
		o, err := ParseOverrides([]byte(raw))
		if err == nil {
			_, err = r.Accept(OriginHeader, o)
		}
		if fault.KindOf(err) != want || err == nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if _, err := filled(t, Principal{}, http.Header{"X-Level": {"1", "2"}}, declaredKeys...); fault.KindOf(err) != fault.Invalid || err == nil {
		t.Errorf("a repeated header: %v", err)
	}
	if _, err := filled(t, Principal{}, http.Header{"X-Level": {"high"}}, declaredKeys...); fault.KindOf(err) != fault.Invalid || err == nil {
		t.Errorf("a header that does not match: %v", err)
	}
}

func TestFiltersThatGiveAccessUseWhatCallersCannotChoose(t *testing.T) {
	t.Parallel()
	readers := func(value any) map[string]any { return map[string]any{"readers": value} }
	for name, tc := range map[string]struct {
		claims, attributes map[string]any
		header             http.Header
		filter             string
		want               bool
	}{
		"a claim":               {claims: map[string]any{"groups": []any{"hr"}}, filter: `{"readers": {"$in": {"$context": "claims.groups"}}}`, want: true},
		"a string":              {claims: map[string]any{"groups": "hr"}, filter: `{"readers": {"$in": {"$context": "claims.groups"}}}`, want: true},
		"part of a string":      {claims: map[string]any{"groups": "hr it"}, filter: `{"readers": {"$in": {"$context": "claims.groups"}}}`},
		"an object":             {claims: map[string]any{"groups": map[string]any{"$exists": true}}, filter: `{"readers": {"$context": "claims.groups"}}`},
		"no claim":              {filter: `{"readers": {"$in": {"$context": "claims.groups"}}}`},
		"no claim, negated":     {filter: `{"readers": {"$nin": {"$context": "claims.groups"}}}`},
		"a declared claim":      {claims: map[string]any{"realm": map[string]any{"groups": []any{"hr"}}}, filter: `{"readers": {"$context": "context.groups"}}`, want: true},
		"a claim of wrong type": {claims: map[string]any{"realm": map[string]any{"groups": "hr"}}, filter: `{"readers": {"$context": "context.groups"}}`},
		"an attribute":          {attributes: map[string]any{"team": "hr"}, filter: `{"readers": {"$context": "key.team"}}`, want: true},
		"a header":              {header: http.Header{"X-Level": {"1"}}, filter: `{"level": {"$context": "context.level"}}`},
		"a caller's default":    {filter: `{"country": {"$context": "context.country"}}`},
		"a known key":           {filter: `{"level": {"$context": "context.topK"}}`},
		"a secret":              {filter: `{"pin": {"$context": "context.pin"}}`},
		"a constant":            {filter: `{"region": {"$context": "context.region"}}`, want: true},
	} {
		p := Principal{Claims: tc.claims, Attributes: tc.attributes, MandatoryFilter: parsed(t, tc.filter).Trusted()}
		r, err := filled(t, p, tc.header, declaredKeys...)
		if err != nil {
			t.Fatal(err)
		}
		row := readers("hr")
		row["level"], row["country"], row["region"], row["pin"] = 1.0, "de", "eu", "1234"
		if got := r.Principal.CheckWrite("metadata", row) == nil; got != tc.want {
			t.Errorf("%s: %v, with %s", name, got, r.Principal.MandatoryFilter)
		}
		if r.Principal.MandatoryFilter.IsZero() {
			t.Errorf("%s: the filter was lost", name)
		}
	}
}

// The values of secrets cannot be found out by filters.
func TestFiltersOfCallersCannotTestSecrets(t *testing.T) {
	t.Parallel()
	r, err := filled(t, Principal{}, nil, declaredKeys...)
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Resolve(parsed(t, `{"pin": {"$context": "context.pin"}, "country": {"$context": "context.country"}}`))
	if err != nil || f.Match(map[string]any{"pin": "1234", "country": "de"}) || strings.Contains(f.String(), "1234") {
		t.Errorf("%s, %v", f, err)
	}
}

func TestReservedNamesCannotBeDeclared(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claims", "Claims", "KEY", "tenant", "subject", "server", "secrets", "arguments", "topK", "topk", "indexName", "filter", "", "a.b", "1a", "ä", "a-b", strings.Repeat("a", 65)} {
		if CheckContextKeyName("name", name) == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}
