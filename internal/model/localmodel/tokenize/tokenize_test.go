package tokenize

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const folder = "../testdata/tokenizers"

func load(t testing.TB, path string, value any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, value)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func unzip(t testing.TB, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// expectation is what the library tokenizers returns for the texts and for some pairs.
type expectation struct {
	IDs   [][]int32
	Pairs []struct {
		A, B       string
		Limit      int
		IDs, Types []int32
	}
}

func TestTokensAreThoseOfTheOriginalLibrary(t *testing.T) {
	t.Parallel()
	var texts []string
	load(t, filepath.Join(folder, "texts.json"), &texts)
	for _, name := range []string{"wordpiece", "wordpiece-cased", "unigram", "metaspace-first", "bytelevel"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokenizer, err := Read(unzip(t, filepath.Join(folder, name+".json.gz")))
			if err != nil {
				t.Fatal(err)
			}
			var want expectation
			load(t, filepath.Join(folder, name+".expected.json"), &want)
			wrong := 0
			for i, text := range texts {
				if got := tokenizer.Encode(text, 1<<20); !slices.Equal(got.Tokens, want.IDs[i]) {
					t.Errorf("the tokens of %+q are %v, want %v", text, got.Tokens, want.IDs[i])
					wrong++
				}
			}
			if wrong > 0 {
				t.Errorf("%d of %d texts differ", wrong, len(texts))
			}
			for _, pair := range want.Pairs {
				got := tokenizer.Pair(pair.A, pair.B, pair.Limit)
				if !slices.Equal(got.Tokens, pair.IDs) {
					t.Errorf("the tokens of %.30q and %.30q within %d are %v, want %v", pair.A, pair.B, pair.Limit, got.Tokens, pair.IDs)
				}
				if second := slices.Index(pair.Types, 1); second >= 0 && second != got.Second {
					t.Errorf("the second text of %.30q and %.30q begins at %d, want %d", pair.A, pair.B, got.Second, second)
				}
			}
		})
	}
}

func TestUnsupportedTokenizersAreRefused(t *testing.T) {
	t.Parallel()
	model := `"model":{"type":"WordPiece","vocab":{"[UNK]":0}}`
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":                {`{`, "JSON"},
		"another normalizer":     {`{"normalizer":{"type":"X"},` + model + `}`, `normalizer "X"`},
		"another pre_tokenizer":  {`{"pre_tokenizer":{"type":"X"},` + model + `}`, `pre_tokenizer "X"`},
		"another model":          {`{"model":{"type":"WordLevel","vocab":{}}}`, `model "WordLevel"`},
		"another post_processor": {`{"post_processor":{"type":"X"},` + model + `}`, `post_processor "X"`},
		"no unknown token":       {`{"model":{"type":"WordPiece","vocab":{}}}`, "[UNK]"},
		"a token not there":      {`{"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]"}}]},` + model + `}`, "[CLS]"},
		"a text not there":       {`{"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":""}}]},` + model + `}`, "texts"},
		"no charsmap":            {`{"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"},` + model + `}`, "charsmap"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Read([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestAVocabularyAloneIsATokenizer(t *testing.T) {
	t.Parallel()
	vocabulary := "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nworld\n##s\n!\n"
	tokenizer, err := ReadVocabulary([]byte(vocabulary), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := tokenizer.Encode("Hello, wörlds! [MASK]", 100).Tokens; !slices.Equal(got, []int32{2, 5, 1, 6, 7, 8, 4, 3}) {
		t.Errorf("the tokens are %v", got)
	}
	cased, err := ReadVocabulary([]byte(vocabulary), []byte(`{"do_lower_case":false}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := cased.Encode("Hello world", 3); !slices.Equal(got.Tokens, []int32{2, 1, 3}) || !got.Truncated {
		t.Errorf("the encoding is %v", got)
	}
}

func FuzzTokens(f *testing.F) {
	var tokenizers []*Tokenizer
	for _, name := range []string{"wordpiece", "unigram", "bytelevel"} {
		tokenizer, err := Read(unzip(f, filepath.Join(folder, name+".json.gz")))
		if err != nil {
			f.Fatal(err)
		}
		tokenizers = append(tokenizers, tokenizer)
	}
	f.Add("a<mask>b", 8)
	f.Add("\xff\u0301東", 0)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		for _, tokenizer := range tokenizers {
			got := tokenizer.Encode(text, limit)
			if len(got.Tokens) > max(limit, 2) {
				t.Errorf("%d tokens of at most %d", len(got.Tokens), limit)
			}
		}
	})
}

func FuzzCharsmap(f *testing.F) {
	f.Add("BAAAAAAEAAA=", "text")
	f.Fuzz(func(_ *testing.T, encoded, text string) {
		if normalize, err := precompiled(encoded); err == nil {
			normalize(text)
		}
	})
}
