package remote

import "testing"

func TestTextsInJSONWeighLittle(t *testing.T) {
	t.Parallel()
	for piece, want := range map[string]int64{
		`{"a":[1,2]}`:              2*openCost + memberCost + entryCost,
		`"{[,:"`:                   0,
		`"\"{[,:"`:                 0,
		`"\\"[`:                    openCost,
		"event: \"\ndata: [":       openCost + memberCost, // a line break ends a text
		`"` + "\n" + `{"a":"b,c"}`: openCost + memberCost,
	} {
		var whole, parts Meter
		cost := whole.Weigh([]byte(piece)) - int64(len(piece))*textCost
		var sum int64
		for i := range len(piece) {
			sum += parts.Weigh([]byte(piece[i:i+1])) - textCost
		}
		if cost < want || sum != cost {
			t.Errorf("%s: %d, in pieces %d, want at least %d", piece, cost, sum, want)
		}
	}
}
