// Package transformer computes BERT-like encoder models: BERT, RoBERTa, XLM-RoBERTa,
// CamemBERT, DistilBERT and MPNet, with weights in safetensors files.
//
// Sequences of different lengths are computed together without padding: all layers but the
// attention see one matrix with a row for each token of all sequences.
package transformer

import (
	"fmt"
	"math"
	"sync"

	"github.com/ragdhq/ragd/internal/model/localmodel/kernel"
)

// Sequence is the tokens of a text, or of a pair of texts, with special tokens.
type Sequence struct {
	Tokens []int32
	// Second is the index of the first token of the second text, or 0 if there is one text.
	Second int
}

// States are the outputs of the last layer, a row of Hidden values for each token.
type States struct {
	values []float32
	stride int
	hidden int
	starts []int // row of each sequence, and the number of rows
}

// Row returns the values of a token. They must not be used after Release.
func (s *States) Row(sequence, token int) []float32 {
	return s.values[(s.starts[sequence]+token)*s.stride:][:s.hidden]
}

// Len returns the number of tokens of a sequence.
func (s *States) Len(sequence int) int { return s.starts[sequence+1] - s.starts[sequence] }

// chunk is the number of rows that the feed-forward and attention layers compute at a time,
// so that their intermediate values stay in the processor's cache.
const chunk = 96

// scratch is the memory of a computation.
type scratch struct {
	states                     States
	projected, context, output []float32
	inner, scores              []float32
	keys, values               kernel.Weights
	integers                   kernel.Int8Rows
	int8Keys, int8Values       kernel.Int8Weights
	residual                   []float32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Run computes the sequences and calls use with their states. Between steps of some
// milliseconds it calls pause, whose error ends the computation. Errors: that of pause, and
// for sequences that are empty, too long, or have tokens that the model does not know.
func (m *Model) Run(sequences []Sequence, pause func() error, use func(*States)) error {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	if err := m.embed(s, sequences); err != nil {
		return err
	}
	for i := range m.layers {
		if err := pause(); err != nil {
			return err
		}
		if err := m.layer(s, &m.layers[i], pause); err != nil {
			return err
		}
	}
	use(&s.states)
	return nil
}

// grow returns a slice of n values, which are not cleared.
func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// embed writes the sum of the embeddings of the tokens, normalised.
func (m *Model) embed(s *scratch, sequences []Sequence) error {
	st := &s.states
	st.hidden, st.stride = m.Hidden, kernel.Stride(m.Hidden)
	st.starts = append(st.starts[:0], 0)
	rows := 0
	for _, q := range sequences {
		if n := len(q.Tokens); n == 0 || n > m.MaxTokens() {
			return fmt.Errorf("a sequence has %d tokens, the model reads 1 to %d", n, m.MaxTokens())
		}
		rows += len(q.Tokens)
		st.starts = append(st.starts, rows)
	}
	st.values = grow(st.values, rows*st.stride)
	s.residual = grow(s.residual, m.Hidden)
	for i, q := range sequences {
		if err := m.embedSequence(s, i, q); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) embedSequence(s *scratch, sequence int, q Sequence) error {
	offset, shift := m.offset(), 0
	for i, token := range q.Tokens {
		if token < 0 || int(token) >= m.Vocabulary {
			return fmt.Errorf("the token %d is not in the vocabulary of %d tokens: tokenizer and model do not belong together", token, m.Vocabulary)
		}
		row := s.states.Row(sequence, i)
		if err := m.words.Floats(row, int(token)*m.Hidden); err != nil {
			return err
		}
		position := offset + i - shift
		if offset > 0 && token == m.Pad { // padding in the middle of a text has no position
			position = int(m.Pad)
			shift++
		}
		kind := 0
		if q.Second > 0 && i >= q.Second && len(m.types) > m.Hidden {
			kind = m.Hidden
		}
		copy(s.residual, m.types[kind:])
		for j, x := range m.positions[position*m.Hidden:][:m.Hidden] {
			s.residual[j] += x
		}
		m.engine.AddNorm(row, s.residual, m.norm.weight, m.norm.bias, m.Epsilon)
	}
	return nil
}

// layer applies one layer to the states.
func (m *Model) layer(s *scratch, l *layer, pause func() error) error {
	st := &s.states
	rows := st.starts[len(st.starts)-1]
	width := kernel.Stride(3 * m.Hidden)
	s.projected = grow(s.projected, rows*width)
	m.multiply(s, s.projected, width, st.values, st.stride, rows, l.attention)
	contextWidth := kernel.Stride(m.Hidden + kernel.Panel)
	s.context = grow(s.context, rows*contextWidth)
	for i := range len(st.starts) - 1 {
		m.attend(s, st.starts[i], st.starts[i+1], width, contextWidth)
	}
	s.output = grow(s.output, rows*st.stride)
	m.multiply(s, s.output, st.stride, s.context, contextWidth, rows, l.out)
	m.addNorm(s, 0, rows, l.outNorm)
	if err := pause(); err != nil {
		return err
	}
	inner := kernel.Stride(m.Inner)
	s.inner = grow(s.inner, min(rows, chunk)*inner)
	for from := 0; from < rows; from += chunk {
		n := min(chunk, rows-from)
		m.multiply(s, s.inner, inner, st.values[from*st.stride:], st.stride, n, l.inner)
		m.activate(s.inner[:n*inner])
		m.multiply(s, s.output[from*st.stride:], st.stride, s.inner, inner, n, l.outer)
		m.addNorm(s, from, from+n, l.norm)
		if err := pause(); err != nil {
			return err
		}
	}
	return nil
}

// multiply computes rows of a linear layer.
func (m *Model) multiply(s *scratch, c []float32, ldc int, a []float32, lda, rows int, l linear) {
	if l.integers == nil {
		m.engine.Multiply(c, ldc, a, lda, rows, l.floats)
		return
	}
	m.engine.Round(&s.integers, a, lda, rows, l.integers)
	m.engine.MultiplyInt8(c, ldc, &s.integers, l.integers)
}

// addNorm adds the output of a layer to rows of the states and normalises them.
func (m *Model) addNorm(s *scratch, from, to int, n norm) {
	for r := from; r < to; r++ {
		at := r * s.states.stride
		m.engine.AddNorm(s.states.values[at:][:m.Hidden], s.output[at:], n.weight, n.bias, m.Epsilon)
	}
}

func (m *Model) activate(x []float32) {
	if m.Activation == "gelu" {
		m.engine.GELU(x)
		return
	}
	relu(x)
}

// attend computes the attention of the rows of one sequence. The heads are computed in order,
// because the product of one may overwrite the columns after it.
func (m *Model) attend(s *scratch, from, to, width, contextWidth int) {
	n, size := to-from, m.Hidden/m.Heads
	scale := float32(1 / math.Sqrt(float64(size)))
	stride := kernel.Stride(n)
	s.scores = grow(s.scores, min(n, chunk)*stride)
	for head := range m.Heads {
		h := attentionHead{
			query: s.projected[from*width+head*size:], width: width, n: n, size: size, scale: scale,
			context: s.context[from*contextWidth+head*size:], contextWidth: contextWidth, number: head,
		}
		if m.int8Attention {
			m.attendInt8(s, h)
		} else {
			m.attendFloats(s, h)
		}
	}
}

// attentionHead is a head of the attention of n tokens. The queries, keys and values of a token are
// size values each, Hidden apart; those of the next one are width values further.
type attentionHead struct {
	query, context                       []float32
	number, n, size, width, contextWidth int
	scale                                float32
}

func (m *Model) attendFloats(s *scratch, h attentionHead) {
	stride := kernel.Stride(h.n)
	s.keys.Transpose(h.query[m.Hidden:], h.n, h.size, h.width)
	s.values.Copy(h.query[2*m.Hidden:], h.n, h.size, h.width)
	for row := 0; row < h.n; row += chunk {
		count := min(chunk, h.n-row)
		m.engine.Multiply(s.scores, stride, h.query[row*h.width:], h.width, count, &s.keys)
		for r := range count {
			m.engine.Softmax(m.scores(s, h, row, r), h.scale)
		}
		m.engine.Multiply(h.context[row*h.contextWidth:], h.contextWidth, s.scores, stride, count, &s.values)
	}
}

// attendInt8 is attendFloats with products in 8-bit integers.
func (m *Model) attendInt8(s *scratch, h attentionHead) {
	m.engine.TransposeInt8(&s.int8Keys, h.query[m.Hidden:], h.n, h.size, h.width)
	m.engine.CopyInt8(&s.int8Values, h.query[2*m.Hidden:], h.n, h.size, h.width)
	for row := 0; row < h.n; row += chunk {
		count := min(chunk, h.n-row)
		m.engine.Round(&s.integers, h.query[row*h.width:], h.width, count, &s.int8Keys)
		m.engine.MultiplyInt8(s.scores, kernel.Stride(h.n), &s.integers, &s.int8Keys)
		s.integers.Reset(count, h.n)
		for r := range count {
			m.engine.SoftmaxInt8(&s.integers, r, m.scores(s, h, row, r), h.scale)
		}
		m.engine.MultiplyInt8(h.context[row*h.contextWidth:], h.contextWidth, &s.integers, &s.int8Values)
	}
}

// scores returns the scores of a token against all others, with the bias of their distances.
func (m *Model) scores(s *scratch, h attentionHead, row, r int) []float32 {
	stride := kernel.Stride(h.n)
	scores := s.scores[r*stride:][:h.n:stride]
	if m.distances != nil {
		m.addDistances(scores, row+r, h.number, 1/h.scale)
	}
	return scores
}

// addDistances adds MPNet's bias of the distance between a token and the others, times factor.
func (m *Model) addDistances(scores []float32, row, head int, factor float32) {
	for i := range scores {
		scores[i] += m.distances[bucket(i-row, m.buckets)*m.Heads+head] * factor
	}
}

// bucket returns the bucket of a distance between positions, as in T5: one each for the short
// ones, then logarithmically wider ones up to 128 (Raffel et al. 2020, section 2.1).
func bucket(distance, buckets int) int {
	half, out := buckets/2, 0
	if distance < 0 {
		distance = -distance
	} else if distance > 0 {
		out = half
	}
	exact := half / 2
	if distance < exact {
		return out + distance
	}
	const farthest = 128
	// float32, because the boundaries depend on the rounding
	log := float32(math.Log(float64(float32(distance)/float32(exact)))) / float32(math.Log(farthest/float64(exact)))
	return out + min(exact+int(log*float32(half-exact)), half-1)
}

// Score returns the logit of the classification head for a sequence.
func (m *Model) Score(states *States, sequence int) float32 {
	x := states.Row(sequence, 0)
	for i, weights := range m.head {
		out := make([]float32, kernel.Stride(weights.Columns))
		m.engine.Multiply(out, len(out), x, len(x), 1, weights)
		x = out[:weights.Columns]
		switch {
		case i == len(m.head)-1:
		case architectures[m.Type].relu:
			relu(x)
		default:
			tanh(x)
		}
	}
	return x[0]
}

func relu(x []float32) {
	for i, v := range x {
		x[i] = max(v, 0)
	}
}

func tanh(x []float32) {
	for i, v := range x {
		x[i] = float32(math.Tanh(float64(v)))
	}
}
