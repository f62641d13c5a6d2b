package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

func TestPatternsOfNames(t *testing.T) {
	t.Parallel()
	for pattern, names := range map[string]map[string]bool{
		"*":         {"": true, "merge": true},
		"merge":     {"merge": true, "merge2": false, "Merge": false},
		"git_*":     {"git_": true, "git_merge": true, "legit_merge": false},
		"*_delete":  {"a_delete": true, "a_delete_b": false},
		"a*b*c":     {"abc": true, "aXbYc": true, "acb": false, "ab": false},
		"ab*ba":     {"abba": true, "aba": false},
		"*a*a*":     {"aa": true, "a": false, "bab": false, "baab": true},
		"wiki-*.v?": {"wiki-x.v?": true, "wiki-x.v2": false},
	} {
		for name, want := range names {
			if got := matches(pattern, name); got != want {
				t.Errorf("matches(%q, %q) = %v", pattern, name, got)
			}
		}
	}
}

// redactorOf returns a redactor of paths and patterns.
func redactorOf(t *testing.T, paths, patterns []string) *redactor {
	t.Helper()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := Policy{Name: "p", Definition: Definition{Tools: []string{"*"}, Action: Redact, Redaction: &Redaction{Paths: paths, Patterns: patterns, Replacement: "#"}}}
	if err := p.complete(); err != nil {
		t.Fatal(err)
	}
	r, err := s.compile(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return &redactor{rule: r, ctx: t.Context()}
}

func TestRedactionOfArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, given, want string
		paths, patterns   []string
	}{
		{"a member", `{"a":{"b":1,"c":2}}`, `{"a":{"b":"#","c":2}}`, []string{"a.b"}, nil},
		{"of all items", `{"a":[{"b":1},{"c":2},3]}`, `{"a":[{"b":"#"},{"c":2},3]}`, []string{"a.*.b"}, nil},
		{"of all members", `{"a":{"x":{"b":[1]},"y":{"b":null}}}`, `{"a":{"x":{"b":"#"},"y":{"b":"#"}}}`, []string{"a.*.b"}, nil},
		{"an item", `{"a":[1,2,3]}`, `{"a":[1,"#",3]}`, []string{"a.1"}, nil},
		{"what is not there", `{"a":5}`, `{"a":5}`, []string{"a.b.c", "b"}, nil},
		{"a text", `{"a":"call 555-0199 now","b":["555-0100"]}`, `{"a":"call # now","b":["#"]}`, nil, []string{`555-\d{4}`}},
		{"a number", `{"a":5550199.0,"b":7}`, `{"a":"#.0","b":7}`, nil, []string{`555\d{4}`}},
		{"a name", `{"555-0199":true}`, `{"#":true}`, nil, []string{`555-\d{4}`}},
		{"escapes in a text of JSON", `{"a":"{\"n\":\"\\u0035\\u003555-0199\"}"}`, `{"a":"{\"n\":\"#\"}"}`, nil, []string{`5555?-\d{4}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			given, err := schema.Decode([]byte(c.given))
			if err != nil {
				t.Fatal(err)
			}
			x := redactorOf(t, c.paths, c.patterns)
			got := x.encode(x.value(given))
			if x.err != nil || got != c.want || x.changed != (c.given != c.want) {
				t.Errorf("%s (changed: %v), want %s: %v", got, x.changed, c.want, x.err)
			}
		})
	}
}

// What a path or a pattern names is nowhere in a result: neither in the text, nor in its JSON, nor in blocks or metadata.
func TestRedactionOfAResultLeavesNoCopy(t *testing.T) {
	t.Parallel()
	given := func() toolset.Result {
		return toolset.Result{
			Structured: json.RawMessage(`{"customer":{"name":"Rosa","iban":"DE02120300000000202051"},"n":[202051]}`),
			Text:       `Rosa has DE02120300000000202051.`,
			Content: json.RawMessage(`[{"type":"text","text":"{\"customer\":{\"iban\":\"DE0212\\u0030300000000202051\"}}"},
				{"type":"resource","resource":{"uri":"bank://DE02120300000000202051","text":"DE02120300000000202051"}}, {"type":"image","data":"AAAA","mimeType":"image/png"}]`),
			Meta: map[string]any{"account": "DE02120300000000202051"},
		}
	}
	for name, x := range map[string]*redactor{
		"a path":    redactorOf(t, []string{"customer.iban", "n"}, []string{"DE[0-9]{20}"}),
		"a pattern": redactorOf(t, nil, []string{"DE[0-9]{20}", "202051"}),
	} {
		r := &result{Result: given()}
		if err := r.read(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		r.redact(x)
		whole, err := json.Marshal(r.Result)
		if err != nil || x.err != nil || !x.changed {
			t.Fatal(err, x.err, x.changed)
		}
		for _, secret := range []string{"202051", "DE02", "u0030"} {
			if strings.Contains(string(whole)+r.text, secret) {
				t.Errorf("%s leaves %s in %s", name, secret, whole)
			}
		}
		if !strings.Contains(string(r.Structured), "Rosa") {
			t.Errorf("%s takes more: %s", name, r.Structured)
		}
	}
	// A path alone: the text is that of what is left, whatever it said before.
	r := &result{Result: given()}
	if err := r.read(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r.redact(redactorOf(t, []string{"customer.iban", "n"}, nil))
	if want := `{"customer":{"iban":"#","name":"Rosa"},"n":"#"}`; r.Text != want || r.Content != nil || string(r.Structured) != want {
		t.Errorf("%s %s %s", r.Text, r.Content, r.Structured)
	}
}

func TestTextsTooLongForAPatternAreErrors(t *testing.T) {
	t.Parallel()
	x := redactorOf(t, nil, []string{"(a|b|c){200}x"})
	x.text(strings.Repeat("a", 1<<20), 0)
	if fault.KindOf(x.err) != fault.Invalid {
		t.Errorf("%v", x.err)
	}
}

func TestPoliciesAreChecked(t *testing.T) {
	t.Parallel()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	valid := func() Policy {
		return Policy{Name: "p", Definition: Definition{Tools: []string{"merge"}, Action: Deny}}
	}
	redacts := func(r Redaction) func(*Policy) {
		return func(p *Policy) { p.Action, p.Redaction = Redact, &r }
	}
	for want, change := range map[string]func(*Policy){
		"":                        func(*Policy) {},
		"policyName: must be":     func(p *Policy) { p.Name = "a b" },
		"tools: must have 1":      func(p *Policy) { p.Tools = nil },
		`tools: "a b" is no name`: func(p *Policy) { p.Tools = []string{"a b"} },
		"phase: must be before":   func(p *Policy) { p.Phase = "between" },
		"action: is missing":      func(p *Policy) { p.Action = "" },
		"action: must be deny":    func(p *Policy) { p.Action = "allow" },
		"action: cannot be":       func(p *Policy) { p.Action, p.Phase = Approve, After },
		"order: must be between":  func(p *Policy) { p.Order = 2000 },
		"message: ":               func(p *Policy) { p.Message = strings.Repeat("x", maxMessageBytes+1) },
		"condition: is no valid expression: undeclared reference to 'result'": func(p *Policy) { p.Condition = "result.isError" },
		"condition: must be true or false":                                    func(p *Policy) { p.Condition = "size(server)" },
		"condition: must be at most":                                          func(p *Policy) { p.Condition = strings.Repeat(" ", 5000) + "true" },
		"redaction: is missing":                                               func(p *Policy) { p.Action = Redact },
		"redaction: is only for":                                              func(p *Policy) { p.Redaction = &Redaction{Paths: []string{"a"}} },
		"redaction: replaces nothing":                                         redacts(Redaction{}),
		"redaction.paths: \"a..b\"":                                           redacts(Redaction{Paths: []string{"a..b"}}),
		"redaction.patterns: error parsing":                                   redacts(Redaction{Patterns: []string{"("}}),
		"redaction.patterns: \"a*\" matches the empty":                        redacts(Redaction{Patterns: []string{"a*"}}),
		"redaction.patterns: are too large":                                   redacts(Redaction{Patterns: []string{"a{900}", "b{900}", "c{900}"}}),
	} {
		p := valid()
		change(&p)
		err := s.check(t.Context(), &p)
		if want == "" && err != nil || want != "" && (fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	p := valid()
	redacts(Redaction{Paths: []string{"a"}})(&p)
	if err := s.check(t.Context(), &p); err != nil || p.Phase != Before || p.Redaction.Replacement != DefaultReplacement {
		t.Errorf("%v %s", err, cmp.Diff(Policy{}, p))
	}
}
