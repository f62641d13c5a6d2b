package filter

import (
	"math/rand/v2"
	"testing"
)

// TestEvaluateAgreesWithMatch evaluates random filters on the values of keys, as if each were in a column, and on whole metadata.
func TestEvaluateAgreesWithMatch(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := generator{rand.New(rand.NewPCG(seed, 1))}
	rows := make([]map[string]any, 100)
	for n := range rows {
		rows[n] = random.object(3)
	}
	evaluated := 0
	for range 2000 {
		f, err := Parse(random.filter(3))
		if err != nil {
			continue
		}
		got, ok, err := f.Evaluate(len(rows), func(c Condition) ([]Truth, error) {
			holds := c.Evaluator()
			truths := make([]Truth, len(rows))
			for n, metadata := range rows {
				value, present := metadata[c.Key]
				truths[n] = holds(value, present)
			}
			return truths, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		evaluated++
		for n, metadata := range rows {
			if got[n] != f.Match(metadata) {
				t.Fatalf("seed %d: %s selects %v: %v", seed, f, metadata, got[n])
			}
		}
	}
	if evaluated < 500 {
		t.Errorf("%d filters were evaluated", evaluated)
	}
}

func TestWhatCannotBeEvaluatedByKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`: true, `{"a": 1}`: true, `{"$or": [{"a.b": 1}, {"$not": {"c": {"$contains": "x"}}}]}`: true, `{"a": {"$elemMatch": {"b": {"$contains": "x"}}}}`: true,
		`{"$uri": "x"}`: false, `{"$or": [{"a": 1}, {"$uri": {"$startsWith": "x"}}]}`: false, `{"a": {"$regex": "x"}}`: false,
		`{"$nor": [{"b": 1}, {"a": {"$elemMatch": {"b": {"$regex": "x"}}}}]}`: false,
	} {
		f, err := parseText([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := f.Conditions(); ok != want {
			t.Errorf("%s: %v", text, ok)
		}
	}
}
