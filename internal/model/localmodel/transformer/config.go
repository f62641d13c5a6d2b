package transformer

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Config is what config.json says about a model.
type Config struct {
	Type string // the architecture, one of the keys of architectures
	// Hidden is the number of values of a token; Heads divides it. Inner is the width of the
	// feed-forward layers.
	Hidden, Inner, Layers, Heads int
	// Positions is the longest sequence in tokens.
	Positions int
	Vocabulary,
	Types int
	Pad          int32
	Epsilon      float32
	Activation   string // gelu or relu
	Labels       int    // outputs of a classification head
	Architecture string // the class of the model in the transformers library
	// Logistic is false if a cross-encoder's own scores are logits. Scores of this package
	// are logits always.
	Logistic bool

	buckets int // of the relative positions of MPNet
}

// rawConfig has the fields that config.json may have, by all names in use.
type rawConfig struct {
	Type          string            `json:"model_type"`
	Architectures []string          `json:"architectures"`
	AutoMap       map[string]any    `json:"auto_map"`
	Quantization  json.RawMessage   `json:"quantization_config"`
	Hidden        int               `json:"hidden_size"`
	Dim           int               `json:"dim"`
	Inner         int               `json:"intermediate_size"`
	HiddenDim     int               `json:"hidden_dim"`
	Layers        int               `json:"num_hidden_layers"`
	NLayers       int               `json:"n_layers"`
	Heads         int               `json:"num_attention_heads"`
	NHeads        int               `json:"n_heads"`
	Act           string            `json:"hidden_act"`
	Activation    string            `json:"activation"`
	Positions     int               `json:"max_position_embeddings"`
	PositionType  string            `json:"position_embedding_type"`
	Sinusoidal    bool              `json:"sinusoidal_pos_embds"`
	Vocabulary    int               `json:"vocab_size"`
	Types         int               `json:"type_vocab_size"`
	Pad           *int32            `json:"pad_token_id"`
	Epsilon       float32           `json:"layer_norm_eps"`
	Decoder       bool              `json:"is_decoder"`
	Cross         bool              `json:"add_cross_attention"`
	Labels        map[string]string `json:"id2label"`
	Buckets       int               `json:"relative_attention_num_buckets"`
	OldCEFunction string            `json:"sbert_ce_default_activation_function"`
	Sentence      struct {
		Function string `json:"activation_fn"`
	} `json:"sentence_transformers"`
}

// limits of models: far above every model of these architectures, so that a wrong file is not
// a request for all memory.
const (
	maxWidth      = 16384
	maxLayers     = 256
	maxPositions  = 1 << 16
	maxVocabulary = 4 << 20
)

// ParseConfig reads config.json. The errors name the field that this package cannot serve.
func ParseConfig(data []byte) (Config, error) {
	var raw rawConfig
	if err := json.Unmarshal(data, &raw); err != nil {
		return Config{}, err
	}
	if err := raw.refuse(); err != nil {
		return Config{}, err
	}
	c := Config{
		Type:   raw.Type,
		Hidden: max(raw.Hidden, raw.Dim), Inner: max(raw.Inner, raw.HiddenDim),
		Layers: max(raw.Layers, raw.NLayers), Heads: max(raw.Heads, raw.NHeads),
		Positions: raw.Positions, Vocabulary: raw.Vocabulary, Types: raw.Types,
		Epsilon: raw.Epsilon, Labels: max(len(raw.Labels), 2), Logistic: true, buckets: raw.Buckets,
		Activation: raw.Act + raw.Activation,
	}
	if c.Epsilon == 0 {
		c.Epsilon = 1e-12
	}
	c.Pad = architectures[c.Type].pad
	if raw.Pad != nil {
		c.Pad = *raw.Pad
	}
	if len(raw.Architectures) > 0 {
		c.Architecture = raw.Architectures[0]
	}
	if c.Type == "mpnet" && c.buckets == 0 {
		c.buckets = 32
	}
	if len(raw.Labels) > 0 {
		c.Labels = len(raw.Labels)
	}
	switch function := raw.Sentence.Function + raw.OldCEFunction; {
	case function == "", strings.HasSuffix(function, ".Sigmoid"):
	case strings.HasSuffix(function, ".Identity"):
		c.Logistic = false
	default:
		return Config{}, fmt.Errorf("the activation function %q of the scores is not supported, only Sigmoid and Identity", function)
	}
	return c, c.check()
}

// refuse returns an error for a kind of model that this package would compute wrongly.
func (r rawConfig) refuse() error {
	switch {
	case architectures[r.Type].layer.query == "":
		return fmt.Errorf("model_type %q is not supported, only bert, roberta, xlm-roberta, camembert, distilbert and mpnet", r.Type)
	case len(r.AutoMap) > 0:
		return fmt.Errorf("auto_map: a model with its own code is not supported")
	case len(r.Quantization) > 0 && string(r.Quantization) != "null":
		return fmt.Errorf("quantization_config: quantized models are not supported")
	case r.PositionType != "" && r.PositionType != "absolute":
		return fmt.Errorf("position_embedding_type %q is not supported, only absolute", r.PositionType)
	case r.Decoder || r.Cross:
		return fmt.Errorf("is_decoder and add_cross_attention: decoders are not supported")
	}
	return nil
}

// check refuses sizes that cannot be.
func (c Config) check() error {
	for _, f := range []struct {
		name       string
		value, max int
	}{
		{"hidden_size", c.Hidden, maxWidth}, {"intermediate_size", c.Inner, 4 * maxWidth},
		{"num_hidden_layers", c.Layers, maxLayers}, {"num_attention_heads", c.Heads, c.Hidden},
		{"max_position_embeddings", c.Positions, maxPositions}, {"vocab_size", c.Vocabulary, maxVocabulary},
	} {
		if f.value < 1 || f.value > f.max {
			return fmt.Errorf("%s must be 1 to %d, is %d", f.name, f.max, f.value)
		}
	}
	if c.Hidden%c.Heads != 0 {
		return fmt.Errorf("num_attention_heads: %d does not divide hidden_size %d", c.Heads, c.Hidden)
	}
	if c.Activation != "gelu" && c.Activation != "relu" {
		return fmt.Errorf("hidden_act %q is not supported, only gelu and relu", c.Activation)
	}
	if c.Types < 0 || c.Types > 16 {
		return fmt.Errorf("type_vocab_size must be 0 to 16, is %d", c.Types)
	}
	return nil
}

// MaxTokens returns the longest sequence that the position embeddings allow.
func (c Config) MaxTokens() int { return c.Positions - c.offset() }

// offset returns the position of the first token. RoBERTa's begin after that of padding.
func (c Config) offset() int {
	if architectures[c.Type].offset {
		return int(c.Pad) + 1
	}
	return 0
}

// Classifies reports whether the model is a cross-encoder by its class.
func (c Config) Classifies() bool {
	return strings.HasSuffix(c.Architecture, "ForSequenceClassification")
}

// architecture describes how the library transformers names the tensors of a kind of model.
type architecture struct {
	prefix string // before all names in a model with a head
	pad    int32  // the default of pad_token_id
	offset bool   // whether positions begin after pad
	layers string // before the number of a layer
	layer  layerNames
	head   []string // linear layers of a classification head, from the first token on
	relu   bool     // whether the head's activation is relu, not tanh
}

// layerNames are the names of a layer's tensors without .weight and .bias.
type layerNames struct {
	query, key, value, out, outNorm, inner, outer, norm string
}

var (
	bertNames = layerNames{
		"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
		"attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm",
	}
	roberta = architecture{
		prefix: "roberta.", pad: 1, offset: true, layers: "encoder.layer.", layer: bertNames,
		head: []string{"classifier.dense", "classifier.out_proj"},
	}
	architectures = map[string]architecture{
		"bert": {
			prefix: "bert.", layers: "encoder.layer.", layer: bertNames,
			head: []string{"bert.pooler.dense", "classifier"},
		},
		"roberta":     roberta,
		"xlm-roberta": roberta,
		"camembert":   roberta,
		"distilbert": {
			prefix: "distilbert.", layers: "transformer.layer.", layer: layerNames{
				"attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin",
				"sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm",
			},
			head: []string{"pre_classifier", "classifier"}, relu: true,
		},
		"mpnet": {
			prefix: "mpnet.", pad: 1, offset: true, layers: "encoder.layer.", layer: layerNames{
				"attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o",
				"attention.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm",
			},
			head: []string{"classifier.dense", "classifier.out_proj"},
		},
	}
)
