package tokenize

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// raw is tokenizer.json.
type raw struct {
	Added         []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         json.RawMessage `json:"model"`
}

// rawModel is the model in tokenizer.json. Vocabulary is a map or, of Unigram, a list.
type rawModel struct {
	Type         string
	Vocabulary   json.RawMessage `json:"vocab"`
	Unknown      string          `json:"unk_token"`
	UnknownID    *int32          `json:"unk_id"`
	Prefix       *string         `json:"continuing_subword_prefix"`
	Suffix       string          `json:"end_of_word_suffix"`
	MaxRunes     int             `json:"max_input_chars_per_word"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
	Dropout      *float64
	Merges       []rawMerge
}

// rawMerge is a list of two strings or, in older files, both in one with a space between.
type rawMerge [2]string

// UnmarshalJSON decodes both forms.
func (m *rawMerge) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[2]string)(m))
	}
	var both string
	if err := json.Unmarshal(data, &both); err != nil {
		return err
	}
	m[0], m[1], _ = strings.Cut(both, " ")
	return nil
}

// Read reads tokenizer.json. The errors name what this package does not have.
func Read(data []byte) (*Tokenizer, error) {
	var r raw
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	t := &Tokenizer{added: added{}, normalized: added{}}
	var err error
	if t.normalizer, err = normalizer(r.Normalizer); err != nil {
		return nil, err
	}
	if t.split, err = newSplitter(r.PreTokenizer); err != nil {
		return nil, err
	}
	if t.model, err = readModel(r.Model); err != nil {
		return nil, err
	}
	for _, token := range r.Added {
		t.add(token)
	}
	return t, t.readTemplates(r.PostProcessor)
}

func (t *Tokenizer) add(token addedToken) {
	if token.Content == "" {
		return
	}
	if !token.Normalized {
		t.added.put(token)
		return
	}
	if t.normalizer != nil {
		token.Content = cmp.Or(t.normalizer(token.Content), token.Content)
	}
	t.normalized.put(token)
}

func missing(token string) error {
	return fmt.Errorf("the token %q is not in the vocabulary", token)
}

func readModel(data json.RawMessage) (model, error) {
	var r rawModel
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if r.Type == "Unigram" || r.Type == "" && r.UnknownID != nil {
		var pieces []piece
		if err := json.Unmarshal(r.Vocabulary, &pieces); err != nil {
			return nil, fmt.Errorf("vocab: %w", err)
		}
		return newUnigram(pieces, r.UnknownID, r.ByteFallback)
	}
	var vocabulary map[string]int32
	if err := json.Unmarshal(r.Vocabulary, &vocabulary); err != nil {
		return nil, fmt.Errorf("vocab: %w", err)
	}
	prefix := ""
	if r.Prefix != nil {
		prefix = *r.Prefix
	}
	switch r.Type {
	case "WordPiece":
		return newWordPiece(vocabulary, prefix, cmp.Or(r.Unknown, "[UNK]"), cmp.Or(r.MaxRunes, 100))
	case "BPE":
		if prefix != "" || r.Suffix != "" || r.ByteFallback || r.IgnoreMerges || r.Dropout != nil && *r.Dropout != 0 {
			return nil, errors.New("the BPE model is not byte-level: continuing_subword_prefix, end_of_word_suffix, byte_fallback, ignore_merges and dropout are not supported")
		}
		merges := make([][2]string, len(r.Merges))
		for i, m := range r.Merges {
			merges[i] = m
		}
		return newBPE(vocabulary, merges, r.Unknown)
	}
	return nil, fmt.Errorf("the model %q is not supported, only WordPiece, Unigram and BPE", r.Type)
}

// rawTemplates is a post_processor in tokenizer.json.
type rawTemplates struct {
	Type         string
	Processors   []json.RawMessage
	Single, Pair []map[string]struct {
		ID json.RawMessage `json:"id"`
	}
	Special map[string]struct{ IDs []int32 } `json:"special_tokens"`
	// Of BertProcessing and RobertaProcessing: a token and its id.
	Sep, CLS [2]json.RawMessage
}

func (t *Tokenizer) readTemplates(data json.RawMessage) error {
	if absent(data) {
		t.single, t.pair = []part{{text: 1}}, []part{{text: 1}, {text: 2}}
		return nil
	}
	var r rawTemplates
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("post_processor: %w", err)
	}
	switch r.Type {
	case "TemplateProcessing":
		var err error
		if t.single, err = r.template("A", r.Single); err == nil {
			t.pair, err = r.template("B", r.Pair)
		}
		return err
	case "BertProcessing", "RobertaProcessing":
		return t.classic(r)
	case "Sequence":
		return t.sequence(r.Processors)
	case "ByteLevel": // changes offsets only
		t.single, t.pair = []part{{text: 1}}, []part{{text: 1}, {text: 2}}
		return nil
	}
	return fmt.Errorf("the post_processor %q is not supported", r.Type)
}

// sequence reads processors of which at most one adds tokens.
func (t *Tokenizer) sequence(processors []json.RawMessage) error {
	t.single, t.pair = []part{{text: 1}}, []part{{text: 1}, {text: 2}}
	for _, p := range processors {
		single, pair := t.single, t.pair
		if err := t.readTemplates(p); err != nil {
			return err
		}
		if special(t.single) == 0 {
			t.single, t.pair = single, pair
		} else if special(single) > 0 {
			return errors.New("a post_processor with several templates is not supported")
		}
	}
	return nil
}

// template reads a template that ends with the text last.
func (r rawTemplates) template(last string, items []map[string]struct {
	ID json.RawMessage `json:"id"`
}) ([]part, error) {
	var out []part
	texts := ""
	for _, item := range items {
		for kind, value := range item {
			var id string
			if err := json.Unmarshal(value.ID, &id); err != nil {
				return nil, fmt.Errorf("post_processor: %w", err)
			}
			if kind == "Sequence" {
				texts += id
				if id != "A" && id != "B" {
					continue // refused below
				}
				out = append(out, part{text: int(id[0]-'A') + 1})
				continue
			}
			special, ok := r.Special[id]
			if !ok {
				return nil, missing(id)
			}
			out = append(out, part{ids: special.IDs})
		}
	}
	if want := "AB"[:last[0]-'A'+1]; texts != want {
		return nil, fmt.Errorf("post_processor: a template has the texts %q in place of %q", texts, want)
	}
	return out, nil
}

// classic sets the templates of BERT and of RoBERTa, which separates two texts twice.
func (t *Tokenizer) classic(r rawTemplates) error {
	var cls, sep int32
	if err := errors.Join(json.Unmarshal(r.CLS[1], &cls), json.Unmarshal(r.Sep[1], &sep)); err != nil {
		return fmt.Errorf("post_processor: %w", err)
	}
	between := []int32{sep}
	if r.Type == "RobertaProcessing" {
		between = []int32{sep, sep}
	}
	begin, end := part{ids: []int32{cls}}, part{ids: []int32{sep}}
	t.single = []part{begin, {text: 1}, end}
	t.pair = []part{begin, {text: 1}, {ids: between}, {text: 2}, end}
	return nil
}

// ReadVocabulary reads vocab.txt, the WordPiece vocabulary of a BERT model, one token a line.
// config is tokenizer_config.json, or empty.
func ReadVocabulary(data, config []byte) (*Tokenizer, error) {
	settings := struct {
		Lowercase *bool `json:"do_lower_case"`
		Strip     *bool `json:"strip_accents"`
		Chinese   *bool `json:"tokenize_chinese_chars"`
	}{}
	if len(config) > 0 {
		if err := json.Unmarshal(config, &settings); err != nil {
			return nil, fmt.Errorf("tokenizer_config.json: %w", err)
		}
	}
	vocabulary := map[string]int32{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for id := int32(0); lines.Scan(); id++ {
		vocabulary[strings.TrimRight(lines.Text(), "\r")] = id
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	model, err := newWordPiece(vocabulary, "##", "[UNK]", 100)
	if err != nil {
		return nil, err
	}
	lowercase := settings.Lowercase == nil || *settings.Lowercase
	strip := lowercase
	if settings.Strip != nil {
		strip = *settings.Strip
	}
	t := &Tokenizer{
		added: added{}, normalized: added{}, split: bertWords, model: model,
		normalizer: bertNormalizer(true, settings.Chinese == nil || *settings.Chinese, strip, lowercase),
	}
	for _, token := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		id, ok := vocabulary[token]
		if !ok {
			return nil, missing(token)
		}
		t.added.put(addedToken{ID: id, Content: token, Special: true})
	}
	cls, sep := part{ids: []int32{vocabulary["[CLS]"]}}, part{ids: []int32{vocabulary["[SEP]"]}}
	t.single = []part{cls, {text: 1}, sep}
	t.pair = []part{cls, {text: 1}, sep, {text: 2}, sep}
	return t, nil
}
