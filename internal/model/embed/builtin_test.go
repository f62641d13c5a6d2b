package embed

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

func hashed(t testing.TB, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := newBuiltin(nil).embed(t.Context(), job{texts: texts})
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(aa*bb)
}

func TestBuiltinIgnoresHowTheSameTextIsWritten(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, a, b string }{
		{"case", "Grace Hopper", "GRACE HOPPER"},
		{"composed or not", "caf\u00e9", "cafe\u0301"},
		{"full width", "ＧＯ 1.26", "go 1.26"},
		{"white space and punctuation", "one  two,\nthree", "one two three"},
		{"order of words", "river barge canal", "canal river barge"},
		{"possessive", "the ship's captain", "the ship captain"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := hashed(t, tc.a, tc.b)
			if diff := cmp.Diff(v[0], v[1]); diff != "" {
				t.Errorf("%q and %q differ: cosine %v", tc.a, tc.b, cosine(v[0], v[1]))
			}
		})
	}
}

func TestBuiltinRanksTheRelatedTextFirst(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, question, related, other string }{
		{"shared words", "When was the lighthouse repainted?", "The lighthouse was repainted in May.", "The harbour was dredged in May."},
		{"grammar does not count", "What is the of and the tariff?", "A tariff applies.", "What is the of and the?"},
		{"another ending", "repainting lighthouses", "The lighthouse was repainted.", "The harbour was dredged."},
		{"a typing error", "recive parcels", "He will receive it.", "He will refuse it."},
		{"an inflected German word", "Leuchttürme", "Der Leuchtturm an der Küste", "Der Hafen an der Küste"},
		{"Chinese", "东京铁塔在哪里", "东京铁塔是一座电视塔。", "北京烤鸭很好吃。"},
		{"Korean with a particle", "서울에서", "서울은 수도이다", "부산은 항구이다"},
		{"symbols alone", "→", "→ →", "∑"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := hashed(t, tc.question, tc.related, tc.other)
			if related, other := cosine(v[0], v[1]), cosine(v[0], v[2]); related <= other {
				t.Errorf("related %.3f, other %.3f", related, other)
			}
		})
	}
}

func TestBuiltinVectorsAreUnitLength(t *testing.T) {
	t.Parallel()
	texts := []string{"word", "→", "\u200b", "¨", "ひらがな", "a", strings.Repeat("again and again ", 1e5)}
	for i, v := range hashed(t, texts...) {
		if len(v) != builtinDimension || math.Abs(cosine(v, v)-1) > 1e-9 || math.Abs(norm(v)-1) > 1e-6 {
			t.Errorf("%.10q: %d dimensions, length %v", texts[i], len(v), norm(v))
		}
	}
	if n := norm(hashed(t, " \n")[0]); n != 0 {
		t.Errorf("a blank text has length %v", n)
	}
}

func norm(v []float32) float64 {
	var squares float64
	for _, x := range v {
		squares += float64(x) * float64(x)
	}
	return math.Sqrt(squares)
}

// The golden file holds the exact bits of every vector. Stored vectors must stay
// comparable, so a change of the vectors needs a model with a new name.
func TestBuiltinVectorsNeverChange(t *testing.T) {
	t.Parallel()
	texts := []string{
		"a",
		"The quick brown foxes jumped over 1,000 lazy dogs.",
		"Ärger in Zürich: Straße gesperrt, niemand weiß warum, niemand fragt.",
		"東京タワーはどこですか",
		"서울은 대한민국의 수도이다",
		"Что такое градиентный спуск?",
		"ما هي عاصمة فرنسا",
		"== !=",
		strings.Repeat("tide table harbour ", 50) + "once",
	}
	var lines []string
	for i, v := range hashed(t, texts...) {
		var b strings.Builder
		for _, x := range v {
			fmt.Fprintf(&b, "%08x", math.Float32bits(x))
		}
		lines = append(lines, fmt.Sprintf("%.60q %s", texts[i], b.String()))
	}
	path := filepath.Join("testdata", "hash-512.golden")
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var want []string
	for s := bufio.NewScanner(file); s.Scan(); {
		want = append(want, s.Text())
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("builtin/hash-512 computes other vectors than it used to:\n%s", diff)
	}
}

func FuzzBuiltin(f *testing.F) {
	for _, s := range []string{"", "word", "\xff", "\u0301", "北京", "'s", "it's", "½ﷺ", "\u3164"} {
		f.Add(s)
	}
	b := newBuiltin(nil)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := b.embed(t.Context(), job{texts: []string{text, text}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v[0], v[1]); diff != "" {
			t.Fatal("not deterministic")
		}
		want := 1.0
		if blank(text) {
			want = 0
		}
		if n := norm(v[0]); math.Abs(n-want) > 1e-6 {
			t.Fatalf("%q has length %v, want %v", text, n, want)
		}
	})
}

func BenchmarkBuiltin(b *testing.B) {
	for _, words := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("words=%d", words), func(b *testing.B) {
			fields := strings.Fields(strings.Repeat(proseForBenchmark, 1+words/60))
			for i := range fields {
				if i%3 == 0 {
					fields[i] += fmt.Sprint(i / 30) // some words are new, others repeat
				}
			}
			text := strings.Join(fields[:words], " ")
			model := newBuiltin(nil)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := model.embed(b.Context(), job{texts: []string{text}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

const proseForBenchmark = `The harbour master keeps two ledgers, one for arrivals and one for the
pilots' complaints. When a vessel draws more than eleven metres she waits for the flood, and
her agent pays for the tug whether it is used or not. Nobody remembers who wrote that rule,
but every winter somebody tries to have it struck out, and every spring it is still there. `
