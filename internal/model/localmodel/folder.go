package localmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/model/localmodel/kernel"
	"github.com/ragdhq/ragd/internal/model/localmodel/safetensors"
	"github.com/ragdhq/ragd/internal/model/localmodel/tokenize"
	"github.com/ragdhq/ragd/internal/model/localmodel/transformer"
)

// Description is what the configuration of a model folder says, without its weights.
type Description struct {
	Name         string // of the folder
	Architecture string // such as bert
	// CrossEncoder says that the model scores pairs of texts and has no vectors.
	CrossEncoder bool
	// Dimension is the number of values of a vector, 0 for a cross-encoder.
	Dimension int
	// MaxTokens is the longest input that the model reads, with special tokens. The rest of a
	// longer text is left out.
	MaxTokens int
	// QuestionPrefix and DocumentPrefix are put before the texts.
	QuestionPrefix, DocumentPrefix string

	folder  string
	config  transformer.Config
	untyped bool // whether the second text of a pair has the type of the first
	lower   bool // whether texts are written in lower case first
	pooling pooling
	after   []module // modules after the pooling, in order
}

// pooling is how the states of the tokens become one vector.
type pooling string

const (
	poolFirst    pooling = "cls"
	poolMean     pooling = "mean"
	poolMax      pooling = "max"
	poolMeanSqrt pooling = "mean_sqrt_len_tokens"
)

// module is a step after the pooling: a linear layer, or normalisation if that is nil.
type module struct{ dense *dense }

// dense is the configuration of a Dense module.
type dense struct {
	folder   string
	Inputs   int    `json:"in_features"`
	Outputs  int    `json:"out_features"`
	Bias     *bool  `json:"bias"`
	Function string `json:"activation_function"`
}

// The largest files that are read into memory, in bytes.
const (
	maxConfig    = 4 << 20
	maxTokenizer = 128 << 20
)

// read returns a file of a model folder, nil if it does not exist.
func read(folder, name string, limit int64) ([]byte, error) {
	path := filepath.Join(folder, name)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %d bytes, at most %d are allowed", path, info.Size(), limit)
	}
	return os.ReadFile(path)
}

// decode decodes a JSON file of a model folder and reports whether it exists.
func decode(folder, name string, value any) (bool, error) {
	data, err := read(folder, name, maxConfig)
	if err != nil || data == nil {
		return false, err
	}
	if err := json.Unmarshal(data, value); err != nil {
		return false, fmt.Errorf("%s: %w", filepath.Join(folder, name), err)
	}
	return true, nil
}

// Describe reads the configuration of a folder of sentence-transformers, a cross-encoder or a
// plain model of the library transformers. The errors name the file and what in it is not
// supported.
func Describe(folder string) (*Description, error) {
	d, err := DescribeConfig(folder)
	if err == nil {
		err = d.readWeights()
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// DescribeConfig is Describe for a folder whose weights need not be there yet.
func DescribeConfig(folder string) (*Description, error) {
	if _, err := os.Stat(folder); err != nil {
		return nil, err
	}
	data, err := read(folder, "config.json", maxConfig)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, fmt.Errorf("%s has no config.json: it is not a folder of a model", folder)
	}
	d := &Description{Name: filepath.Base(folder), folder: folder, pooling: poolMean}
	if d.config, err = transformer.ParseConfig(data); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(folder, "config.json"), err)
	}
	d.Architecture, d.CrossEncoder = d.config.Type, d.config.Classifies()
	if !d.CrossEncoder {
		d.Dimension = d.config.Hidden
	}
	for _, step := range []func() error{d.readLimits, d.readModules, d.readPrompts} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// weights is the name of the file of the weights.
const weights = "model.safetensors"

// readWeights checks that the weights are there, whole and in a format that is read.
func (d *Description) readWeights() error {
	path := filepath.Join(d.folder, weights)
	if _, err := os.Stat(path); err == nil {
		file, err := safetensors.Open(path)
		if err != nil {
			return err
		}
		return file.Close()
	}
	for _, other := range []string{"model.safetensors.index.json", "pytorch_model.bin", "tf_model.h5"} {
		if _, err := os.Stat(filepath.Join(d.folder, other)); err == nil {
			return fmt.Errorf("%s has no %s, only %s, which is not supported", d.folder, weights, other)
		}
	}
	return fmt.Errorf("%s has no %s", d.folder, weights)
}

func (d *Description) readLimits() error {
	var sentence struct {
		Max   *int `json:"max_seq_length"`
		Lower bool `json:"do_lower_case"`
	}
	var tokenizer struct {
		Max   *float64 `json:"model_max_length"`
		Class string   `json:"tokenizer_class"`
		Names []string `json:"model_input_names"`
	}
	if _, err := decode(d.folder, "sentence_bert_config.json", &sentence); err != nil {
		return err
	}
	if _, err := decode(d.folder, "tokenizer_config.json", &tokenizer); err != nil {
		return err
	}
	d.MaxTokens, d.lower = d.config.MaxTokens(), sentence.Lower
	switch {
	case sentence.Max != nil:
		d.MaxTokens = min(d.MaxTokens, *sentence.Max)
	case tokenizer.Max != nil && *tokenizer.Max < float64(d.MaxTokens):
		d.MaxTokens = int(*tokenizer.Max)
	}
	// The class that has no names of its own gives the model no types since transformers 5.
	d.untyped = tokenizer.Class == "TokenizersBackend"
	if tokenizer.Names != nil {
		d.untyped = !slices.Contains(tokenizer.Names, "token_type_ids")
	}
	const least = 8 // special tokens and some text
	if d.MaxTokens < least {
		return fmt.Errorf("%s: the model reads only %d tokens", d.folder, d.MaxTokens)
	}
	return nil
}

// readModules reads the modules after the transformer. Without modules.json the vectors are
// the mean of the tokens, as in sentence-transformers.
func (d *Description) readModules() error {
	var modules []struct{ Path, Type string }
	found, err := decode(d.folder, "modules.json", &modules)
	if err != nil || !found || d.CrossEncoder {
		return err
	}
	d.pooling = ""
	for i, m := range modules {
		kind := m.Type[strings.LastIndexByte(m.Type, '.')+1:]
		if m.Path != "" && !filepath.IsLocal(m.Path) {
			return fmt.Errorf("%s: the path %q of a module is outside of the folder", filepath.Join(d.folder, "modules.json"), m.Path)
		}
		if err := d.addModule(i, kind, filepath.Join(d.folder, m.Path)); err != nil {
			return err
		}
	}
	if d.pooling == "" {
		return fmt.Errorf("%s has no module Pooling", filepath.Join(d.folder, "modules.json"))
	}
	return nil
}

func (d *Description) addModule(i int, kind, folder string) error {
	switch {
	case kind == "Transformer" && i == 0 && folder == d.folder:
		return nil
	case kind == "Pooling" && d.pooling == "":
		return d.readPooling(folder)
	case kind == "Dense" && d.pooling != "":
		m := dense{folder: folder}
		if found, err := decode(folder, "config.json", &m); err != nil || !found {
			return errors.Join(fmt.Errorf("the module Dense in %s cannot be read", folder), err)
		}
		if m.Inputs != d.Dimension {
			return fmt.Errorf("%s: in_features is %d, but the module before has %d outputs", filepath.Join(folder, "config.json"), m.Inputs, d.Dimension)
		}
		d.Dimension = m.Outputs
		d.after = append(d.after, module{&m})
		return nil
	case kind == "Normalize" && d.pooling != "":
		d.after = append(d.after, module{})
		return nil
	}
	return fmt.Errorf("%s: module %d, %s, is not supported here; Transformer, Pooling, Dense and Normalize are, in this order", filepath.Join(d.folder, "modules.json"), i, kind)
}

func (d *Description) readPooling(folder string) error {
	var raw struct {
		Mode       any   `json:"pooling_mode"`
		First      bool  `json:"pooling_mode_cls_token"`
		Mean       bool  `json:"pooling_mode_mean_tokens"`
		Max        bool  `json:"pooling_mode_max_tokens"`
		Sqrt       bool  `json:"pooling_mode_mean_sqrt_len_tokens"`
		Weighted   bool  `json:"pooling_mode_weightedmean_tokens"`
		Last       bool  `json:"pooling_mode_lasttoken"`
		WithPrompt *bool `json:"include_prompt"`
	}
	path := filepath.Join(folder, "config.json")
	if found, err := decode(folder, "config.json", &raw); err != nil || !found {
		return errors.Join(fmt.Errorf("the module Pooling in %s cannot be read", folder), err)
	}
	var modes []pooling
	for mode, on := range map[pooling]bool{poolFirst: raw.First, poolMean: raw.Mean, poolMax: raw.Max, poolMeanSqrt: raw.Sqrt, "weightedmean": raw.Weighted, "lasttoken": raw.Last} {
		if on {
			modes = append(modes, mode)
		}
	}
	if mode, ok := raw.Mode.(string); ok {
		modes = append(modes, pooling(mode))
	}
	if len(modes) != 1 {
		return fmt.Errorf("%s: there are %d pooling modes, only one is supported", path, len(modes))
	}
	switch modes[0] {
	case poolFirst, poolMean, poolMax, poolMeanSqrt:
	default:
		return fmt.Errorf("%s: the pooling mode %s is not supported, only cls, mean, max and mean_sqrt_len_tokens", path, modes[0])
	}
	if raw.WithPrompt != nil && !*raw.WithPrompt {
		return fmt.Errorf("%s: include_prompt false is not supported", path)
	}
	d.pooling = modes[0]
	return nil
}

func (d *Description) readPrompts() error {
	var raw struct {
		Prompts  map[string]string `json:"prompts"`
		Default  *string           `json:"default_prompt_name"`
		Function string            `json:"activation_fn"`
	}
	path := filepath.Join(d.folder, "config_sentence_transformers.json")
	if _, err := decode(d.folder, "config_sentence_transformers.json", &raw); err != nil {
		return err
	}
	if d.CrossEncoder {
		for _, known := range []string{"", ".Sigmoid", ".Identity"} {
			if strings.HasSuffix(raw.Function, known) && (raw.Function == "") == (known == "") {
				return nil // scores are logistic whatever the function is: see Service.Score
			}
		}
		return fmt.Errorf("%s: activation_fn %q is not supported, only Sigmoid and Identity", path, raw.Function)
	}
	fallback := ""
	if raw.Default != nil {
		fallback = raw.Prompts[*raw.Default]
	}
	prompt := func(names ...string) string {
		for _, name := range names {
			if text, ok := raw.Prompts[name]; ok {
				return text
			}
		}
		return fallback
	}
	d.QuestionPrefix, d.DocumentPrefix = prompt("query"), prompt("document", "passage", "corpus")
	return nil
}

// readTokenizer reads tokenizer.json, or else vocab.txt.
func (d *Description) readTokenizer() (*tokenize.Tokenizer, error) {
	data, err := read(d.folder, "tokenizer.json", maxTokenizer)
	if err != nil {
		return nil, err
	}
	if data != nil {
		tokenizer, err := tokenize.Read(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(d.folder, "tokenizer.json"), err)
		}
		return tokenizer, nil
	}
	if data, err = read(d.folder, "vocab.txt", maxTokenizer); err != nil {
		return nil, err
	}
	if data == nil {
		return nil, fmt.Errorf("%s has neither tokenizer.json nor vocab.txt", d.folder)
	}
	config, err := read(d.folder, "tokenizer_config.json", maxConfig)
	if err != nil {
		return nil, err
	}
	tokenizer, err := tokenize.ReadVocabulary(data, config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(d.folder, "vocab.txt"), err)
	}
	return tokenizer, nil
}

// load loads the tokenizer and the weights.
func (d *Description) load(engine kernel.Engine, precision Precision) (*loaded, error) {
	tokenizer, err := d.readTokenizer()
	if err != nil {
		return nil, err
	}
	l := &loaded{Description: d, tokenizer: tokenizer}
	for _, m := range d.after {
		var layer *transformer.Linear
		if m.dense != nil {
			bias := m.dense.Bias == nil || *m.dense.Bias
			if layer, err = transformer.LoadLinear(filepath.Join(m.dense.folder, weights), m.dense.Inputs, m.dense.Outputs, bias, m.dense.Function, engine); err != nil {
				return nil, err
			}
		}
		l.after = append(l.after, layer)
	}
	if l.model, err = transformer.Load(filepath.Join(d.folder, weights), d.config, transformer.Options{Classify: d.CrossEncoder, Engine: engine, Int8: precision != Float32}); err != nil {
		return nil, err
	}
	return l, nil
}
