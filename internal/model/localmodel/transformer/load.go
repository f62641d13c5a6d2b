package transformer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/model/localmodel/kernel"
	"github.com/ragdhq/ragd/internal/model/localmodel/safetensors"
)

// Model is a loaded encoder. The word embeddings stay in the file, which the system maps;
// the other weights are in memory. Safe for concurrent use until Close.
type Model struct {
	Config
	engine kernel.Engine
	file   *safetensors.File

	words            safetensors.Tensor
	positions, types []float32
	norm             norm
	layers           []layer
	distances        []float32 // MPNet: a row of heads for each bucket
	head             []*kernel.Weights
	bytes            int
	int8Attention    bool // whether the products of the attention are computed in integers
}

// linear is a linear layer in 8-bit integers, or in floats if integers is nil.
type linear struct {
	floats   *kernel.Weights
	integers *kernel.Int8Weights
}

// layer has the weights of one layer. attention computes query, key and value at once.
type layer struct {
	attention, out, inner, outer linear
	outNorm, norm                norm
}

// norm has the weights of a LayerNorm.
type norm struct{ weight, bias []float32 }

// Options say what is loaded.
type Options struct {
	// Classify loads the classification head too, which must have one label.
	Classify bool
	// Engine computes the model.
	Engine kernel.Engine
	// Int8 rounds the weights of the layers to 8-bit integers, if the engine has HasInt8.
	Int8 bool
}

// Load maps model.safetensors and packs the weights. Errors: of the system, and for a file that
// does not have the tensors of the configuration.
func Load(path string, config Config, options Options) (*Model, error) {
	file, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	m := &Model{Config: config, engine: options.Engine, file: file, int8Attention: options.Int8 && options.Engine.HasInt8Attention()}
	l := &loader{file: file, model: m, int8: options.Int8 && options.Engine.HasInt8()}
	if err := l.load(options.Classify); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return m, nil
}

// Close unmaps the file. No computation may be running.
func (m *Model) Close() error { return m.file.Close() }

// Bytes returns the memory of the weights without the mapped file.
func (m *Model) Bytes() int { return m.bytes }

// loader reads tensors by name. The first failure is kept, and makes later reads return nothing.
type loader struct {
	file   *safetensors.File
	model  *Model
	prefix string
	int8   bool // whether layers are packed as integers
	err    error
}

func (l *loader) load(classify bool) error {
	m, arch := l.model, architectures[l.model.Type]
	const words = "embeddings.word_embeddings.weight"
	if _, ok := l.file.Tensor(arch.prefix + words); ok {
		l.prefix = arch.prefix
	}
	m.words = l.tensor(l.prefix+words, m.Vocabulary, m.Hidden)
	if l.err == nil {
		l.err = m.words.Floats(make([]float32, 1), 0) // a type that can be read
	}
	m.positions = l.floats(l.prefix+"embeddings.position_embeddings.weight", m.Positions, m.Hidden)
	m.types = make([]float32, m.Hidden)
	if m.Types > 0 && m.Type != "distilbert" && m.Type != "mpnet" {
		m.types = l.floats(l.prefix+"embeddings.token_type_embeddings.weight", m.Types, m.Hidden)
	}
	m.norm = l.norm(l.prefix + "embeddings.LayerNorm")
	if m.Type == "mpnet" {
		m.distances = l.floats(l.prefix+"encoder.relative_attention_bias.weight", m.buckets, m.Heads)
	}
	for i := range m.Layers {
		if l.err == nil {
			m.layers = append(m.layers, l.layer(l.prefix+arch.layers+strconv.Itoa(i)+".", arch.layer))
		}
	}
	if classify {
		l.head(arch)
	}
	return l.err
}

func (l *loader) layer(prefix string, names layerNames) layer {
	m := l.model
	h := m.Hidden
	var weight, bias []float32
	for _, name := range []string{names.query, names.key, names.value} {
		weight = append(weight, l.floats(prefix+name+".weight", h, h)...)
		bias = append(bias, l.floats(prefix+name+".bias", h)...)
	}
	if l.err != nil {
		return layer{}
	}
	return layer{
		attention: l.pack(weight, 3*h, h, bias, l.model.engine.PackInt8),
		out:       l.linear(prefix+names.out, h, h),
		inner:     l.linear(prefix+names.inner, m.Inner, h),
		outer:     l.outer(prefix+names.outer, h, m.Inner),
		outNorm:   l.norm(prefix + names.outNorm),
		norm:      l.norm(prefix + names.norm),
	}
}

// head loads the layers of a classification head with one label.
func (l *loader) head(arch architecture) {
	for i, name := range arch.head {
		outputs := l.model.Hidden
		if i == len(arch.head)-1 {
			outputs = 1
			if t, ok := l.file.Tensor(name + ".weight"); ok && len(t.Shape) == 2 && t.Shape[0] != 1 {
				l.fail(fmt.Errorf("the classification head has %d labels; a cross-encoder has one", t.Shape[0]))
			}
		}
		l.model.head = append(l.model.head, l.floatLinear(name, outputs, l.model.Hidden))
	}
}

func (l *loader) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// linear packs a layer of the model.
func (l *loader) linear(name string, outputs, inputs int) linear {
	weight, bias := l.floats(name+".weight", outputs, inputs), l.floats(name+".bias", outputs)
	if l.err != nil {
		return linear{}
	}
	return l.pack(weight, outputs, inputs, bias, l.model.engine.PackInt8)
}

// outer packs the layer after the activation, whose values are far above their least one.
func (l *loader) outer(name string, outputs, inputs int) linear {
	weight, bias := l.floats(name+".weight", outputs, inputs), l.floats(name+".bias", outputs)
	if l.err != nil {
		return linear{}
	}
	least := float32(0) // of relu
	if l.model.Activation == "gelu" {
		least = -0.17
	}
	return l.pack(weight, outputs, inputs, bias, func(weight []float32, outputs, inputs int, bias []float32) *kernel.Int8Weights {
		return l.model.engine.PackInt8Above(least, weight, outputs, inputs, bias)
	})
}

// pack packs a layer as integers with the given function, or as floats.
func (l *loader) pack(weight []float32, outputs, inputs int, bias []float32, integers func([]float32, int, int, []float32) *kernel.Int8Weights) linear {
	if !l.int8 {
		packed := kernel.Pack(weight, outputs, inputs, bias)
		l.model.bytes += packed.Bytes()
		return linear{floats: packed}
	}
	packed := integers(weight, outputs, inputs, bias)
	l.model.bytes += packed.Bytes()
	return linear{integers: packed}
}

// floatLinear packs a layer that is computed once for a text.
func (l *loader) floatLinear(name string, outputs, inputs int) *kernel.Weights {
	weight, bias := l.floats(name+".weight", outputs, inputs), l.floats(name+".bias", outputs)
	if l.err != nil {
		return nil
	}
	packed := kernel.Pack(weight, outputs, inputs, bias)
	l.model.bytes += packed.Bytes()
	return packed
}

// norm loads a LayerNorm, whose tensors were gamma and beta in older files.
func (l *loader) norm(name string) norm {
	weight, bias := ".weight", ".bias"
	if _, ok := l.file.Tensor(name + ".gamma"); ok {
		weight, bias = ".gamma", ".beta"
	}
	return norm{l.floats(name+weight, l.model.Hidden), l.floats(name+bias, l.model.Hidden)}
}

// floats reads a tensor of a shape.
func (l *loader) floats(name string, shape ...int) []float32 {
	tensor := l.tensor(name, shape...)
	if l.err != nil {
		return nil
	}
	out := make([]float32, tensor.Len())
	if err := tensor.Floats(out, 0); err != nil {
		l.fail(fmt.Errorf("tensor %s: %w", name, err))
	}
	return out
}

func (l *loader) tensor(name string, shape ...int) safetensors.Tensor {
	tensor, ok := l.file.Tensor(name)
	switch {
	case l.err != nil:
	case !ok:
		l.fail(fmt.Errorf("there is no tensor %s", name))
	case !slices.Equal(tensor.Shape, shape):
		l.fail(fmt.Errorf("tensor %s has the shape %v, config.json says %v", name, tensor.Shape, shape))
	}
	return tensor
}

// Linear is a linear layer with an activation after the pooling of a sentence model.
type Linear struct {
	weights *kernel.Weights
	tanh    bool
	engine  kernel.Engine
}

// LoadLinear loads a layer of the file of a Dense module, with the activation function that
// its config names.
func LoadLinear(path string, inputs, outputs int, bias bool, function string, engine kernel.Engine) (*Linear, error) {
	if inputs < 1 || outputs < 1 || max(inputs, outputs) > maxWidth {
		return nil, fmt.Errorf("in_features and out_features must be 1 to %d, are %d and %d", maxWidth, inputs, outputs)
	}
	if function != "" && !strings.HasSuffix(function, ".Tanh") && !strings.HasSuffix(function, ".Identity") {
		return nil, fmt.Errorf("activation_function %q is not supported, only Tanh and Identity", function)
	}
	file, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	l := &loader{file: file, model: &Model{}}
	var packed *kernel.Weights
	if bias {
		packed = l.floatLinear("linear", outputs, inputs)
	} else if weight := l.floats("linear.weight", outputs, inputs); l.err == nil {
		packed = kernel.Pack(weight, outputs, inputs, nil)
	}
	if l.err != nil {
		return nil, fmt.Errorf("%s: %w", path, l.err)
	}
	return &Linear{packed, strings.HasSuffix(function, ".Tanh"), engine}, nil
}

// Outputs returns the number of values of a result.
func (l *Linear) Outputs() int { return l.weights.Columns }

// Apply returns the layer's output for a vector.
func (l *Linear) Apply(vector []float32) []float32 {
	out := make([]float32, kernel.Stride(l.weights.Columns))
	l.engine.Multiply(out, len(out), vector, len(vector), 1, l.weights)
	out = out[:l.weights.Columns]
	if l.tanh {
		tanh(out)
	}
	return out
}
