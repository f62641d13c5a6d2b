package embed

import (
	"context"
	"math"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/query/lexical"
)

// The builtin model, builtin/hash-512: signed feature hashing ("the hashing
// trick", Weinberger et al. 2009). A text is a bag of features; each feature
// has a fixed pseudo-random direction in a space of 512 dimensions, and the
// text's vector is their weighted sum, scaled to unit length. The cosine of two
// vectors therefore estimates the overlap of the two bags.
//
// A word has the weight w = (1 + ln tf) times a factor for its rank, and these features:
//
//   - its stem, with weight w. Its direction has wordSpread non-zero coordinates instead
//     of the usual one. With one coordinate, two words are either orthogonal or collide
//     at full weight, and among thousands of chunks some always collide (recall@5 on
//     single-hop English questions is 0.71 with one, 0.79 with eight);
//   - the rune trigrams of the word and its edges, with weight 0.6 w together, which
//     match despite typing errors and different endings;
//   - its first four runes, with weight 0.4 w, a crude stem that works in many languages.
//
// All sums are integers, so the vector does not depend on the order of the
// features or on how a processor rounds.
//
// The name identifies the version: a change of the computation needs a new model name,
// so that stored vectors stay comparable. The golden test checks the vectors.
const (
	builtinModel     = "hash-512"
	builtinDimension = 512

	wordSpread   = 12 // non-zero coordinates of a stem's direction
	prefixSpread = 4
	gramSpread   = 2

	gramWeight   = 0.6
	prefixWeight = 0.4
	commonWeight = 0.65
	stopWeight   = 0.1
	glyphWeight  = 0.5 // a single rune, whose pairs count as well

	fixedPoint = 1 << 12 // weights are multiples of 1/4096
)

// The seeds keep the hashes of different kinds of features apart.
const (
	seedWord uint64 = iota + 1
	seedGram
	seedPrefix
)

// builtin embeds without a provider.
type builtin struct {
	processor *limit.Processor
	hashers   sync.Pool // of *hasher
}

func newBuiltin(processor *limit.Processor) *builtin {
	return &builtin{processor: processor, hashers: sync.Pool{New: func() any { return new(hasher) }}}
}

// smallJob is the size in bytes up to which texts are embedded without a slot of the
// processor: about half a millisecond of work.
const smallJob = 16 << 10

func (b *builtin) embed(ctx context.Context, job job) (vectors [][]float32, err error) {
	size := 0
	for _, text := range job.texts {
		size += len(text)
	}
	if size <= smallJob {
		return b.vectors(ctx, job.texts)
	}
	err = b.processor.Run(ctx, job.tenant, func(ctx context.Context) error {
		vectors, err = b.vectors(ctx, job.texts)
		return err
	})
	return vectors, err
}

func (b *builtin) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	h := b.hashers.Get().(*hasher)
	defer b.hashers.Put(h)
	steps := limit.NewSteps(ctx)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if !steps.Next(textSteps) {
			return nil, steps.Err()
		}
		vectors[i] = h.vector(steps, text)
	}
	return vectors, steps.Err()
}

// The steps of work that a text, a word and a distinct word cost.
const (
	textSteps     = 512
	wordSteps     = 32
	distinctSteps = 256
)

// hasher is the working memory for one text at a time.
type hasher struct {
	terms map[uint64]int32 // hash of a stem -> index in bag
	bag   []term
	words []byte // folded words of the bag, end to end
	runes []rune
	sum   [builtinDimension]int64
}

// term is a distinct word of the text.
type term struct {
	hash       uint64
	count      int
	form       lexical.Form
	rank       lexical.Rank
	start, end int // of the folded word in hasher.words
}

// vector returns the unit vector of the text. In a text without words every rune counts
// as a word. The vector of a blank text is zero, that of a text during which the steps end
// is of no use.
func (h *hasher) vector(steps *limit.Steps, text string) []float32 {
	h.reset()
	for token := range lexical.Tokens(text) {
		if !steps.Next(wordSteps) {
			break
		}
		h.count(token)
	}
	if len(h.bag) == 0 {
		h.countRunes(text)
	}
	for i := range h.bag {
		if !steps.Next(distinctSteps) {
			break
		}
		h.add(&h.bag[i])
	}
	return h.normalized()
}

func (h *hasher) reset() {
	if h.terms == nil || len(h.bag) > 1<<14 {
		h.terms = make(map[uint64]int32, 256) // do not keep the memory of one huge text
	} else {
		clear(h.terms)
	}
	h.bag, h.words = h.bag[:0], h.words[:0]
	h.sum = [builtinDimension]int64{}
}

func (h *hasher) count(token lexical.Token) {
	key := hashBytes(seedWord, token.Stem)
	if at, ok := h.terms[key]; ok {
		h.bag[at].count++
		return
	}
	h.terms[key] = int32(len(h.bag))
	start := len(h.words)
	h.words = append(h.words, token.Folded...)
	h.bag = append(h.bag, term{hash: key, count: 1, form: token.Form, rank: token.Rank(), start: start, end: len(h.words)})
}

// countRunes counts the runes of a text that consists of symbols only, such as "→" or
// "!=".
func (h *hasher) countRunes(text string) {
	var encoded [utf8.UTFMax]byte
	for _, r := range text {
		if !unicode.IsSpace(r) {
			glyph := utf8.AppendRune(encoded[:0], r)
			h.count(lexical.Token{Form: lexical.Glyph, Folded: glyph, Stem: glyph})
		}
	}
}

// add adds the features of one distinct word to the sum.
func (h *hasher) add(t *term) {
	weight := sublinear(t.count)
	switch t.rank {
	case lexical.Stop:
		weight *= stopWeight
	case lexical.Common:
		weight *= commonWeight
	}
	if t.form == lexical.Glyph {
		weight *= glyphWeight
	}
	h.scatter(t.hash, weight, wordSpread)
	if t.form != lexical.Word || t.rank == lexical.Stop {
		return
	}

	const edge = 1 // no letter has this code point
	h.runes = append(h.runes[:0], edge)
	for rest := h.words[t.start:t.end]; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		h.runes = append(h.runes, r)
		rest = rest[size:]
	}
	h.runes = append(h.runes, edge)
	h.addGrams(weight)
	h.addPrefix(weight)
}

// addGrams adds the n-grams of h.runes. They are trigrams, but pairs for Korean words,
// because a Hangul syllable stands for two or three letters.
func (h *hasher) addGrams(weight float64) {
	n := 3
	if unicode.Is(unicode.Hangul, h.runes[1]) {
		n = 2
	}
	grams := len(h.runes) - n + 1
	if grams < 1 {
		return
	}
	weight *= gramWeight * inverseRoot(grams)
	for i := range grams {
		key := seedGram
		for _, r := range h.runes[i : i+n] {
			key = key<<21 ^ key>>43 ^ uint64(r)
		}
		h.scatter(mix(key), weight, gramSpread)
	}
}

func (h *hasher) addPrefix(weight float64) {
	const letters = 4
	if len(h.runes) < letters+2 {
		return
	}
	key := seedPrefix
	for _, r := range h.runes[1 : 1+letters] {
		key = mix(key ^ uint64(r))
	}
	h.scatter(key, weight*prefixWeight, prefixSpread)
}

// scatter adds weight times the direction of the feature with this hash. The direction
// has spread coordinates of equal size; ten bits of the hash select each coordinate and
// its sign.
func (h *hasher) scatter(hash uint64, weight float64, spread int) {
	const bits, perDraw = 10, 6
	step := int64(math.Round(weight * inverseRoot(spread) * fixedPoint))
	draw := hash
	for i := range spread {
		if i > 0 && i%perDraw == 0 {
			hash += 0x9e3779b97f4a7c15
			draw = mix(hash)
		}
		sign := 1 - int64(draw>>8&2)
		h.sum[draw&(builtinDimension-1)] += sign * step
		draw >>= bits
	}
}

func (h *hasher) normalized() []float32 {
	var squares float64
	for _, x := range h.sum {
		squares += float64(float64(x) * float64(x)) // the conversion prevents a fused multiply-add
	}
	vector := make([]float32, builtinDimension)
	if squares == 0 {
		return vector
	}
	length := math.Sqrt(squares)
	for i, x := range h.sum {
		vector[i] = float32(float64(x) / length)
	}
	return vector
}

// sublinear returns 1 + ln count, the weight of a word that occurs count times.
func sublinear(count int) float64 {
	if count == 1 {
		return 1
	}
	return 1 + math.Log(float64(count))
}

func inverseRoot(n int) float64 { return 1 / math.Sqrt(float64(n)) }

// hashBytes returns the FNV-1a hash with a final mix, so that all bits are usable.
func hashBytes(seed uint64, text []byte) uint64 {
	h := 0xcbf29ce484222325 ^ seed
	for _, c := range text {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return mix(h)
}

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
