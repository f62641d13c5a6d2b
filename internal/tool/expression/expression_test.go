package expression

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

const values = `{
	"input": {"question": "Why?", "tags": ["A", "b"], "n": 3, "part": 0.5, "big": 12345678901234567, "nothing": null, "nested": {"a b": [1, {"c": true}]}},
	"context": {"tier": "pro", "language": "de"}
}`

func environment(t testing.TB) *Environment {
	t.Helper()
	e, err := New(nil, "input", "context")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func decoded(t testing.TB, text string) map[string]any {
	t.Helper()
	value, err := schema.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return value.(map[string]any)
}

func evaluate(t testing.TB, text string, variables map[string]any) (any, error) {
	t.Helper()
	x, err := environment(t).Compile("map.value", text)
	if err != nil {
		return nil, err
	}
	return x.JSON(t.Context(), variables)
}

func TestExpressionsMakeValuesOfVariables(t *testing.T) {
	t.Parallel()
	variables := decoded(t, values)
	for text, want := range map[string]string{
		`input.question`:                     `"Why?"`,
		`input.nothing`:                      `null`,
		`input`:                              `{"question":"Why?","tags":["A","b"],"n":3,"part":0.5,"big":12345678901234567,"nothing":null,"nested":{"a b":[1,{"c":true}]}}`,
		`input.nested["a b"][1].c`:           `true`,
		`{"q": input.question, "k": [1, 2]}`: `{"q":"Why?","k":[1,2]}`,
		`input.n + 1`:                        `4`,
		`input.n * 2 > 5`:                    `true`,
		`input.part < 1`:                     `true`,
		`input.big + 1`:                      `12345678901234568`,
		`input.tags.map(t, t.lowerAscii()).join(",")`:                     `"a,b"`,
		`input.tags.filter(t, t != "b") + ["c"]`:                          `["A","c"]`,
		`input.tags.map(t, {string(t): 1})`:                               `[{"A":1},{"b":1}]`,
		`input.question.split("h")[1].trim().upperAscii()`:                `"Y?"`,
		`input.question.matches("^W.*[?]$") && matches("abc", "b")`:       `true`,
		`context.?region.orValue("eu")`:                                   `"eu"`,
		`context.?region`:                                                 `null`,
		`has(context.region) ? context.region : context.tier`:             `"pro"`,
		`"b" in input.tags && "tier" in context && size(input.tags) == 2`: `true`,
		`input.nested == {"a b": [1, {"c": true}]}`:                       `true`,
		`input.tags != ["A"]`:                                             `true`,
		`input.tags.exists(t, t == "A")`:                                  `true`,
		`b"ab"`:                                                           `"YWI="`,
		`duration("90s")`:                                                 `"90s"`,
		`timestamp("2026-01-02T03:04:05Z")`:                               `"2026-01-02T03:04:05Z"`,
		`1.5`:                                                             `1.5`,
		`"ä" + "ö"`:                                                       `"äö"`,
	} {
		got, err := evaluate(t, text, variables)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		expected, err := schema.Decode([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestBadExpressionsNameTheFieldAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	variables := decoded(t, values)
	for text, want := range map[string]string{
		``:                                "is missing: it must be an expression",
		`input.`:                          "is no valid expression",
		`steps.a`:                         "the variables are input, context",
		`input.missing`:                   "write has(a.b)",
		`input.question + 1`:              "cannot be evaluated",
		`type(input)`:                     "is not JSON",
		`{1: 2}`:                          "string(key)",
		`1.0 / 0.0`:                       "cannot hold",
		`1 / 0`:                           "cannot be evaluated",
		`"a".matches("(")`:                "cannot be evaluated",
		`unknown("a")`:                    "is no valid expression",
		`input.question.replace("W", "")`: "is no valid expression",
		`[1, "a"].join()`:                 "join",
		strings.Repeat("(", 2000):         "is no valid expression",
		strings.Repeat("a", MaxBytes+1):   "must be at most 4096 bytes",
	} {
		_, err := evaluate(t, text, variables)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Violations) != 1 || f.Violations[0].Field != "map.value" || !strings.Contains(f.Message, want) {
			t.Errorf("%.40s: %v, want %q", text, err, want)
		}
		if err != nil && len(err.Error()) > 2*maxReasonBytes {
			t.Errorf("%.40s: an error of %d bytes", text, len(err.Error()))
		}
	}
}

func TestExpressionsTellWhatTheyName(t *testing.T) {
	t.Parallel()
	x, err := environment(t).Compile("value", `[input.a, input["b"].c, has(input.d), input.?e, input.f.map(context, context.g)]`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "f"}, x.Members("input")); diff != "" {
		t.Error(diff)
	}
	if !x.Uses("input") || x.Uses("steps") {
		t.Error("the names of variables are wrong")
	}
}

func TestConditionsAreTrueOrFalse(t *testing.T) {
	t.Parallel()
	e, variables := environment(t), decoded(t, values)
	for text, want := range map[string]bool{`context.tier == "pro"`: true, `context.tier in ["free"]`: false, `input.nested["a b"][1].c`: true} {
		x, err := e.CompileCondition("when", text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := x.Bool(t.Context(), variables); err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	if _, err := e.CompileCondition("when", `"pro"`); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a text as a condition: %v", err)
	}
	x, err := e.CompileCondition("when", `context.tier`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Bool(t.Context(), variables); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a text of a variable as a condition: %v", err)
	}
}

// Each of these would take minutes, hours or gigabytes if only its steps were counted.
func TestCostlyExpressionsEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 1<<19)
	variables := map[string]any{"input": map[string]any{"text": long, "list": make([]any, 50_000)}, "context": map[string]any{}}
	doubled := func(start, step string, n int) string {
		return start + strings.Repeat(".map(x, "+step+")", n)
	}
	for name, text := range map[string]string{
		"a concatenated list":    "size(" + doubled("[[1]]", "x + x", 60) + "[0])",
		"a nested list":          doubled("[1]", "[x, x]", 60) + " == " + doubled("[1]", "[x, x]", 60),
		"a nested list in a map": doubled("[1]", `{"a": x, "b": x}`, 60) + ` == ` + doubled("[1]", `{"a": x, "b": x}`, 60),
		"a nested result":        doubled("[1]", "[x, x]", 40),
		"a doubled text":         doubled("[input.text]", "x + x", 40),
		"nested loops":           "input.list.map(a, input.list.map(b, input.list.map(c, 1)))",
		"a pattern":              `input.text.matches("(a*)*(a*)*(a*)*b")`,
		"a join":                 `[input.text, input.text, input.text].join(input.text)`,
		"a split":                `input.text.split("")`,
	} {
		_, err := evaluate(t, text, variables)
		if fault.KindOf(err) != fault.Invalid || strings.Contains(err.Error(), "valid expression") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := evaluate(t, doubled("[1]", "{x: x}", 60), variables); err == nil || len(err.Error()) > 2*maxReasonBytes {
		t.Errorf("a type that doubles: %.100v", err)
	}
	variables["input"].(map[string]any)["list"] = make([]any, 2_000)
	patient := environment(t)
	patient.maxTime = time.Minute // however busy the machine is
	x, err := patient.Compile("map.value", "size(input.list.map(a, {'x': a, 'y': 1})) + size(input.list)")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := x.JSON(t.Context(), variables); err != nil || n != json.Number("4000") {
		t.Errorf("a list of 2,000 items: %v, %v", n, err)
	}
}

func TestEvaluationEndsWithItsContext(t *testing.T) {
	t.Parallel()
	x, err := environment(t).Compile("map.value", "input.map(a, input.map(b, 1))")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.JSON(ctx, map[string]any{"input": make([]any, 10_000)}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context has ended: %v", err)
	}
}

func TestAnExpressionIsEvaluatedByManyAtOnce(t *testing.T) {
	t.Parallel()
	x, err := environment(t).Compile("map.value", `[1, 2, 3].map(i, i * input.n).filter(i, i > input.n)`)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() {
			for range 50 {
				got, err := x.JSON(t.Context(), map[string]any{"input": map[string]any{"n": n}})
				if err != nil || len(got.([]any)) != 2 && n > 0 {
					t.Errorf("%d: %v, %v", n, got, err)
				}
			}
		})
	}
	all.Wait()
}

// Any text is refused as Invalid or has a JSON value or an Invalid error.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{"", "input.a", `{"a": [input, context.b]}`, "[1].map(x, x + 1)", "has(input.a) ? 1 : 2.5", `"a".matches("b*")`, "input.?a.orValue(1)", "-9223372036854775808 - 1", "b'\\xff'", "timestamp(0) + duration('1h')"} {
		f.Add(seed)
	}
	e, variables := environment(f), decoded(f, values)
	f.Fuzz(func(t *testing.T, text string) {
		x, err := e.Compile("value", text)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		got, err := x.JSON(t.Context(), variables)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		raw, err := json.Marshal(got)
		if err != nil {
			t.Errorf("%q is %v: %v", text, got, err)
		}
		if _, err := schema.Decode(raw); err != nil {
			t.Errorf("%q is %s: %v", text, raw, err)
		}
	})
}

func BenchmarkEvaluateCondition(b *testing.B) {
	x, err := environment(b).CompileCondition("when", `context.tier == "pro" && context.language in ["de", "fr"]`)
	if err != nil {
		b.Fatal(err)
	}
	variables := decoded(b, values)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Bool(b.Context(), variables); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvaluateItems(b *testing.B) {
	x, err := environment(b).Compile("value", "size(input.map(a, {'x': a, 'y': 1}))")
	if err != nil {
		b.Fatal(err)
	}
	variables := map[string]any{"input": make([]any, 10_000)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.JSON(b.Context(), variables); err != nil {
			b.Fatal(err)
		}
	}
}

// A long evaluation takes a slot of the processor, a short one does not wait for it.
func TestLongEvaluationsTakeASlot(t *testing.T) {
	t.Parallel()
	errFull := errors.New("no slot")
	entered, left := 0, 0
	var full error
	e, err := New(func(context.Context) (func(), error) {
		entered++
		return func() { left++ }, full
	}, "input")
	if err != nil {
		t.Fatal(err)
	}
	e.maxTime = time.Minute // however busy the machine is
	short, err := e.Compile("when", "input.n + 1")
	if err != nil {
		t.Fatal(err)
	}
	long, err := e.Compile("when", "input.list.map(a, input.list.filter(b, a == b).size()).size()")
	if err != nil {
		t.Fatal(err)
	}
	list := make([]any, 100)
	for i := range list {
		list[i] = json.Number(strconv.Itoa(i))
	}
	values := map[string]any{"input": map[string]any{"n": json.Number("1"), "list": list}}
	if got, err := short.JSON(t.Context(), values); err != nil || got != json.Number("2") || entered != 0 {
		t.Errorf("short: %v, %v, %d slots", got, err, entered)
	}
	if got, err := long.JSON(t.Context(), values); err != nil || got != json.Number("100") || entered != 1 || left != 1 {
		t.Errorf("long: %v, %v, %d slots, %d given back", got, err, entered, left)
	}
	full = errFull
	if _, err := long.JSON(t.Context(), values); !errors.Is(err, errFull) {
		t.Errorf("without a slot: %v", err)
	}
	if _, err := short.JSON(t.Context(), values); err != nil {
		t.Errorf("short, without a slot: %v", err)
	}
	text := strings.Repeat("input.n + ", 10) + "1"
	if _, err := e.For(t.Context()).Compile("when", text); !errors.Is(err, errFull) {
		t.Errorf("a long text is compiled without a slot: %v", err)
	}
	if _, err := e.For(t.Context()).Compile("when", "input.n + 1"); err != nil {
		t.Errorf("a short text, without a slot: %v", err)
	}
}
