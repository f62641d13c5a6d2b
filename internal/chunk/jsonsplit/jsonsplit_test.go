package jsonsplit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// maxDepth limits the nesting of arrays and objects.
const maxDepth = 10_000

// split cuts a text by settings that are given as a map.
func split(t *testing.T, text string, raw map[string]any) []chunk.Chunk {
	t.Helper()
	raw["strategy"] = "json"
	data, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := chunk.ParseSettings(data)
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

func TestJSON(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		text string
		opts map[string]any
		want []string // text and source
	}{
		{
			"what fits below the root is a chunk, scalars come last",
			`{"a": 1, "b": {"c": [1, 2]}, "d": "x", "e": [true, null]}`,
			map[string]any{"maxSize": 40, "minSize": 1},
			[]string{
				`{"b":{"c":[1,2]}} <- "b": {"c": [1, 2]}`,
				`{"e":[true,null]} <- "e": [true, null]`,
				`{"a":1,"d":"x"} <- "a": 1, "b": {"c": [1, 2]}, "d": "x"`,
			},
		},
		{
			"small neighbours are joined up to minSize",
			`{"a": 1, "b": {"c": [1, 2]}, "d": "x", "e": [true, null]}`,
			map[string]any{"maxSize": 40},
			[]string{
				`{"b":{"c":[1,2]},"e":[true,null]} <- "b": {"c": [1, 2]}, "d": "x", "e": [true, null]`,
				`{"a":1,"d":"x"} <- "a": 1, "b": {"c": [1, 2]}, "d": "x"`,
			},
		},
		{
			"joined below the keys that they share",
			`{"a":{"b":{"c":[1,2,3]},"d":[4,5,6],"e":"seven"}}`,
			map[string]any{"maxSize": 36, "minSize": 36},
			[]string{`{"a":{"b":{"c":[1,2,3]}}} <- "b":{"c":[1,2,3]}`, `{"a":{"d":[4,5,6],"e":"seven"}} <- "d":[4,5,6],"e":"seven"`},
		},
		{
			"an array that does not fit becomes groups, a long item stands below its index",
			`{"a":[1,2,3,{"k":"vwxyz","l":"abcdefghijk lmno p"},4,[5,6,7,8,9,10,11,12,13,14,15]]}`,
			map[string]any{"maxSize": 32, "minSize": 1},
			[]string{
				`{"a":[1,2,3]} <- 1,2,3`,
				`{"a":{"3":{"k":"vwxyz"}}} <- "k":"vwxyz"`,
				`{"a":{"3":{"l":"abcdefghijk "}}} <- abcdefghijk `,
				`{"a":{"3":{"l":"lmno p"}}} <- lmno p`,
				`{"a":[4]} <- 4`,
				`{"a":{"5":[5,6,7,8,9,10,11,12]}} <- 5,6,7,8,9,10,11,12`,
				`{"a":{"5":[13,14,15]}} <- 13,14,15`,
			},
		},
		{
			"numbers keep their digits",
			`[1.0, -0, 1e5, 12345678901234567890, 0.10]`,
			map[string]any{"maxSize": 100},
			[]string{`{"0":1.0,"1":-0,"2":1e5,"3":12345678901234567890,"4":0.10} <- 1.0, -0, 1e5, 12345678901234567890, 0.10`},
		},
		{
			"strings keep their value and are escaped once",
			`{"é":"caf\u00e9 \"q\" \\ \/ \u000a\u001F 👍 \ud83d\udc4d \ud83d \\u0041"}`,
			map[string]any{"maxSize": 200},
			[]string{`{"é":"caf\u00e9 \"q\" \\ / \n\u001f \ud83d\udc4d \ud83d\udc4d \ud83d \\u0041"} <- ` +
				`"é":"caf\u00e9 \"q\" \\ \/ \u000a\u001F 👍 \ud83d\udc4d \ud83d \\u0041"`},
		},
		{
			"without ASCII",
			`{"é":"caf\u00e9 \ud83d\udc4d \ud83d \\u0041"}`,
			map[string]any{"maxSize": 200, "ensureAscii": false},
			[]string{`{"é":"café 👍 \ud83d \\u0041"} <- "é":"caf\u00e9 \ud83d\udc4d \ud83d \\u0041"`},
		},
		{
			"array indexes come first",
			`{"b":{"x":1,"10":2,"9":{"y":3,"0":4},"01":5,"\u0037":6},"1":0}`,
			map[string]any{"maxSize": 200},
			[]string{`{"b":{"7":6,"9":{"0":4,"y":3},"10":2,"x":1,"01":5},"1":0} <- "b":{"x":1,"10":2,"9":{"y":3,"0":4},"01":5,"\u0037":6},"1":0`},
		},
		{
			"in every object that is split, too",
			`{"o":{"x":"aaaaaaaaaa","10":"bbbbbbbbbb","9":"cccccccccc"}}`,
			map[string]any{"maxSize": 30, "minSize": 1},
			[]string{
				`{"o":{"9":"cccccccccc"}} <- "9":"cccccccccc"`,
				`{"o":{"10":"bbbbbbbbbb"}} <- "10":"bbbbbbbbbb"`,
				`{"o":{"x":"aaaaaaaaaa"}} <- "x":"aaaaaaaaaa"`,
			},
		},
		{
			"a key may come twice",
			`{"a":1,"a":2}`,
			map[string]any{"maxSize": 50},
			[]string{`{"a":1,"a":2} <- "a":1,"a":2`},
		},
		{
			"a key called root is a key",
			`{"root":{"root":[1]}}`,
			map[string]any{"maxSize": 50},
			[]string{`{"root":{"root":[1]}} <- "root":{"root":[1]}`},
		},
		{
			"a long string is cut behind spaces",
			`{"k":"one two three four five six seven eight nine ten"}`,
			map[string]any{"maxSize": 41, "minSize": 41},
			[]string{
				`{"k":"one two three four "} <- one two three four `,
				`{"k":"five six seven eight "} <- five six seven eight `,
				`{"k":"nine ten"} <- nine ten`,
			},
		},
		{
			"or between characters and escapes",
			`{"k":"\u0065\u0301aaaaaaaaaaaaaaa\n👍\"bb"}`,
			map[string]any{"maxSize": 25, "ensureAscii": false},
			[]string{
				"{\"k\":\"e\u0301aaaaaaaaaaaaaaa\"} <- " + `\u0065\u0301aaaaaaaaaaaaaaa`,
				`{"k":"\n👍\"bb"} <- \n👍\"bb`,
			},
		},
		{
			"a root that is no container",
			` "one two three four five" `,
			map[string]any{"maxSize": 15},
			[]string{`"one two " <- one two `, `"three four " <- three four `, `"five" <- five`},
		},
		{"a number", `-1.50`, map[string]any{"maxSize": 2}, []string{`-1.50 <- -1.50`}},
		{"nothing", ` {} `, map[string]any{"maxSize": 2}, nil},
		{"empty containers are values", `{"a":{},"b":[ ]}`, map[string]any{"maxSize": 4, "minSize": 1}, []string{`{"a":{}} <- "a":{}`, `{"b":[]} <- "b":[ ]`}},
		{"a byte order mark", "\ufeff[1]", map[string]any{"maxSize": 20}, []string{`{"0":1} <- 1`}},
		{
			"lists are converted",
			`[[1,[2]],{"a":[]}]`,
			map[string]any{"maxSize": 60, "convertLists": true},
			[]string{`{"0":{"0":1,"1":{"0":2}},"1":{"a":{}}} <- [1,[2]],{"a":[]}`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range split(t, tt.text, tt.opts) {
				got = append(got, fmt.Sprintf("%s <- %s", c.Text, tt.text[c.StartByte:c.EndByte]))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJSONRejectsInvalidTexts(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", maxDepth+1)
	for _, text := range []string{
		"", " ", "{", "[", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `[1,]`, `[,1]`, `{a:1}`, `{"a" 1}`, `[1 2]`, `]`, `[1]]`, `{"a":1}}`, `[1}`, `{"a":1]`,
		"01", "1.", ".5", "1e", "+1", "-", "nul", "truee", "NaN", "'a'", `"a`, "\"a\nb\"", `"\x"`, `"\u12"`, `"\u12g4"`, "\"\x00\"", "1 2", "{} x", deep, "\xff",
	} {
		_, err := chunk.Split(t.Context(), text, chunk.Options{Strategy: chunk.JSON, MaxSize: 100})
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.Invalid || e.Violations[0].Field != "text" {
			t.Errorf("%.20q: error %v", text, err)
		}
	}
}

func TestJSONDepth(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(`[`, maxDepth) + "1" + strings.Repeat("]", maxDepth)
	chunks := split(t, text, map[string]any{"maxSize": 100})
	if len(chunks) != 1 || len(leavesIn(t, chunks[0].Text)) != 1 {
		t.Errorf("%d chunks", len(chunks))
	}
}

// A long key above many values would be repeated in every chunk.
func TestJSONRejectsChunksOfMostlyRepeatedKeys(t *testing.T) {
	t.Parallel()
	text := `{"` + strings.Repeat("k", 1<<20) + `":[` + strings.Repeat("1,", 1<<19) + "1]}"
	_, err := chunk.Split(t.Context(), text, chunk.Options{Strategy: chunk.JSON, MaxSize: 100})
	if err == nil || !strings.Contains(err.Error(), "larger maxSize") {
		t.Errorf("error %v", err)
	}
}

// leavesIn returns the scalars and empty containers of a JSON text in order. Keys may
// be duplicate.
func leavesIn(t *testing.T, text string) []any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	d.UseNumber()
	var leaves []any
	var objects []bool
	key, empty := false, false // whether a key is next, whether a container was just opened
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return leaves
		}
		if err != nil {
			t.Fatalf("not JSON: %v: %.200q", err, text)
		}
		inObject := len(objects) > 0 && objects[len(objects)-1]
		switch delim, _ := token.(json.Delim); {
		case delim == '{' || delim == '[':
			objects = append(objects, delim == '{')
			key, empty = delim == '{', true
			continue
		case delim == '}' || delim == ']':
			objects = objects[:len(objects)-1]
			if empty && len(objects) > 0 {
				leaves = append(leaves, "an empty container")
			}
			key = len(objects) > 0 && objects[len(objects)-1]
		case inObject && key:
			key = false
		default:
			leaves = append(leaves, token)
			key = inObject
		}
		empty = false
	}
}

// checkJSON splits a text and checks that the chunks have all leaves, that segments of
// strings have all characters, and that sizes and bounds are valid.
func checkJSON(t *testing.T, text string, o chunk.Options) {
	t.Helper()
	chunks, err := chunk.Split(t.Context(), text, o)
	if !utf8.ValidString(text) || !json.Valid([]byte(strings.TrimPrefix(text, "\ufeff"))) {
		if err == nil {
			t.Errorf("took %q", text)
		}
		return
	}
	if err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	var got []any
	for i, c := range chunks {
		leaves := leavesIn(t, c.Text)
		got = append(got, leaves...)
		if n := textspan.Units(c.Text); n > o.MaxSize && len(leaves) > 1 {
			t.Errorf("chunk %d has %d units and %d leaves: %q", i, n, len(leaves), c.Text)
		}
		if !utf8.ValidString(c.Text) || c.StartByte < 0 || c.StartByte >= c.EndByte || c.EndByte > len(text) || !utf8.ValidString(text[c.StartByte:c.EndByte]) {
			t.Errorf("chunk %d, %q, has bounds %d to %d", i, c.Text, c.StartByte, c.EndByte)
		}
	}
	want := leavesIn(t, text)
	if wantText, gotText := characterCounts(want), characterCounts(got); !reflect.DeepEqual(wantText, gotText) {
		t.Errorf("strings of %q in %v (-want +got):\n%s", text, chunks, cmp.Diff(wantText, gotText))
	}
	if w, g := otherLeaves(want), otherLeaves(got); !slices.Equal(w, g) {
		t.Errorf("leaves of %q in %v (-want +got):\n%s", text, chunks, cmp.Diff(w, g))
	}
}

// characterCounts counts the characters of all strings. Cutting strings does not change
// the counts.
func characterCounts(leaves []any) map[rune]int {
	counts := map[rune]int{}
	for _, leaf := range leaves {
		if s, ok := leaf.(string); ok && s != "an empty container" {
			for _, r := range s {
				counts[r]++
			}
		}
	}
	return counts
}

func otherLeaves(leaves []any) []string {
	var out []string
	for _, leaf := range leaves {
		if s, ok := leaf.(string); !ok || s == "" || s == "an empty container" {
			out = append(out, fmt.Sprintf("%T %v", leaf, leaf))
		}
	}
	slices.Sort(out)
	return out
}

// randomJSON writes a random value.
func randomJSON(r *rand.Rand, sb *strings.Builder, depth int) {
	space := func() { sb.WriteString([]string{"", "", "", " ", "\n\t"}[r.IntN(5)]) }
	list := func(open, end string, member func()) {
		sb.WriteString(open)
		space()
		for i := range r.IntN(5) {
			if i > 0 {
				sb.WriteByte(',')
				space()
			}
			member()
			space()
		}
		sb.WriteString(end)
	}
	texts := []string{"", "a", "long words and more of them", "1", "0", "42", "é", "👩🏽‍🔧", `\n`, `\"`, `\\`, `\/`, `\u00e9`, `\ud83d\udc4d`, `\ud83d`, `\u0000`, "abcdefghijklmnopqrstuvwxyz", "日本語の文です"}
	text := func() {
		sb.WriteByte('"')
		for range 1 + r.IntN(3) {
			sb.WriteString(texts[r.IntN(len(texts))])
		}
		sb.WriteByte('"')
	}
	switch n := r.IntN(10); {
	case n < 3 && depth > 0:
		list("[", "]", func() { randomJSON(r, sb, depth-1) })
	case n < 6 && depth > 0:
		list("{", "}", func() {
			text()
			space()
			sb.WriteByte(':')
			space()
			randomJSON(r, sb, depth-1)
		})
	case n < 8:
		text()
	default:
		sb.WriteString([]string{"true", "false", "null", "0", "-1.50", "1e5", "12345678901234567890"}[r.IntN(7)])
	}
}

func TestJSONKeepsItsPromises(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for i := 0; i < 20000 && !t.Failed(); i++ {
		var sb strings.Builder
		randomJSON(r, &sb, 6)
		o := chunk.Options{Strategy: chunk.JSON, MaxSize: 1 + r.IntN(200), EnsureASCII: r.IntN(2) == 0, ConvertLists: r.IntN(3) == 0}
		o.MinSize = r.IntN(o.MaxSize + 1)
		checkJSON(t, sb.String(), o)
		if t.Failed() {
			t.Logf("options %+v, text %q", o, sb.String())
		}
	}
}

func FuzzJSON(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 20 {
		var sb strings.Builder
		randomJSON(r, &sb, 5)
		f.Add(sb.String(), uint16(r.IntN(100)), uint16(r.IntN(100)), byte(r.IntN(4)))
	}
	f.Fuzz(func(t *testing.T, text string, maxSize, minSize uint16, flags byte) {
		if len(text) > 4000 {
			return
		}
		o := chunk.Options{Strategy: chunk.JSON, MaxSize: 1 + int(maxSize)%500, EnsureASCII: flags&1 != 0, ConvertLists: flags&2 != 0}
		o.MinSize = int(minSize) % (o.MaxSize + 1)
		checkJSON(t, text, o)
	})
}
