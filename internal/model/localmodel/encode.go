package localmodel

import (
	"math"
	"strings"

	"github.com/ragdhq/ragd/internal/model/localmodel/tokenize"
	"github.com/ragdhq/ragd/internal/model/localmodel/transformer"
)

// loaded is a model in memory.
type loaded struct {
	*Description
	tokenizer *tokenize.Tokenizer
	model     *transformer.Model
	after     []*transformer.Linear // nil for a normalisation
}

// encode returns the tokens of a text that is embedded.
func (l *loaded) encode(text string) tokenize.Encoding {
	text = strings.TrimSpace(text)
	if l.lower {
		text = strings.ToLower(text)
	}
	return l.tokenizer.Encode(text, l.MaxTokens)
}

// pair returns the tokens of a question and a text that are scored together.
func (l *loaded) pair(question, text string) tokenize.Encoding {
	out := l.tokenizer.Pair(strings.TrimSpace(question), strings.TrimSpace(text), l.MaxTokens)
	if l.untyped {
		out.Second = 0
	}
	return out
}

// vector returns the vector of a sequence.
func (l *loaded) vector(states *transformer.States, sequence int) []float32 {
	out := l.pool(states, sequence)
	for _, layer := range l.after {
		if layer != nil {
			out = layer.Apply(out)
		} else {
			normalise(out)
		}
	}
	return out
}

func (l *loaded) pool(states *transformer.States, sequence int) []float32 {
	first := states.Row(sequence, 0)
	out := make([]float32, len(first))
	copy(out, first)
	if l.pooling == poolFirst {
		return out
	}
	n := states.Len(sequence)
	for t := 1; t < n; t++ {
		row := states.Row(sequence, t)
		if l.pooling == poolMax {
			for i, x := range row {
				out[i] = max(out[i], x)
			}
			continue
		}
		for i, x := range row {
			out[i] += x
		}
	}
	switch l.pooling {
	case poolMean:
		scale(out, 1/float64(n))
	case poolMeanSqrt:
		scale(out, 1/math.Sqrt(float64(n)))
	}
	return out
}

func scale(x []float32, factor float64) {
	for i := range x {
		x[i] = float32(float64(x[i]) * factor)
	}
}

// normalise gives a vector unit length, as PyTorch's normalize does.
func normalise(x []float32) {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	scale(x, 1/max(math.Sqrt(sum), 1e-12))
}
