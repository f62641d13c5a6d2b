package tokenize

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/unicode/norm"
)

// rawNormalizer is a normalizer in tokenizer.json.
type rawNormalizer struct {
	Type        string
	Normalizers []rawNormalizer
	// Of BertNormalizer.
	CleanText          bool  `json:"clean_text"`
	HandleChineseChars bool  `json:"handle_chinese_chars"`
	StripAccents       *bool `json:"strip_accents"`
	Lowercase          bool
	// Of Precompiled, Replace, Prepend and Strip.
	Charsmap   string      `json:"precompiled_charsmap"`
	Pattern    *rawPattern `json:"pattern"`
	Content    string
	Prepend    string
	StripLeft  bool `json:"strip_left"`
	StripRight bool `json:"strip_right"`
}

type rawPattern struct{ String, Regex *string }

// normalizer returns the step of a normalizer, nil for null.
func normalizer(data json.RawMessage) (step, error) {
	if absent(data) {
		return nil, nil
	}
	var raw rawNormalizer
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	return raw.step()
}

func absent(data json.RawMessage) bool { return len(data) == 0 || string(data) == "null" }

func (r rawNormalizer) step() (step, error) {
	switch r.Type {
	case "Sequence":
		return r.sequence()
	case "BertNormalizer":
		strip := r.Lowercase
		if r.StripAccents != nil {
			strip = *r.StripAccents
		}
		return bertNormalizer(r.CleanText, r.HandleChineseChars, strip, r.Lowercase), nil
	case "Precompiled":
		return precompiled(r.Charsmap)
	case "NFC":
		return norm.NFC.String, nil
	case "NFD":
		return norm.NFD.String, nil
	case "NFKC":
		return norm.NFKC.String, nil
	case "NFKD":
		return norm.NFKD.String, nil
	case "Lowercase":
		return lower, nil
	case "StripAccents":
		return func(s string) string { return removeRunes(s, marked) }, nil
	case "Strip":
		return r.strip, nil
	case "Replace":
		return r.replace()
	case "Prepend":
		return func(s string) string {
			if s == "" {
				return s
			}
			return r.Prepend + s
		}, nil
	}
	return nil, fmt.Errorf("the normalizer %q is not supported", r.Type)
}

func (r rawNormalizer) sequence() (step, error) {
	var steps []step
	for _, inner := range r.Normalizers {
		s, err := inner.step()
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return func(text string) string {
		for _, s := range steps {
			text = s(text)
		}
		return text
	}, nil
}

func (r rawNormalizer) strip(s string) string {
	if r.StripLeft {
		s = trimLeft(s)
	}
	if r.StripRight {
		s = trimRight(s)
	}
	return s
}

func (r rawNormalizer) replace() (step, error) {
	switch {
	case r.Pattern != nil && r.Pattern.String != nil:
		return func(s string) string { return strings.ReplaceAll(s, *r.Pattern.String, r.Content) }, nil
	case r.Pattern != nil && r.Pattern.Regex != nil:
		pattern, err := regexp.Compile(*r.Pattern.Regex)
		if err != nil {
			return nil, fmt.Errorf("the pattern of the normalizer Replace: %w", err)
		}
		return func(s string) string { return pattern.ReplaceAllLiteralString(s, r.Content) }, nil
	}
	return nil, errors.New("the normalizer Replace has no pattern")
}

func trimLeft(s string) string  { return strings.TrimLeftFunc(s, unicode.IsSpace) }
func trimRight(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }

// marked reports whether a rune is an accent of its own.
func marked(r rune) bool { return unicode.Is(unicode.Mn, r) }

func removeRunes(s string, remove func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if remove(r) {
			return -1
		}
		return r
	}, s)
}

// lower maps each rune to lower case, without regard to the runes around it.
func lower(s string) string {
	var out strings.Builder
	out.Grow(len(s))
	for _, r := range s {
		if r == 'İ' { // the only rune whose lower case is two
			out.WriteString("i\u0307")
			continue
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// bertNormalizer returns the normalisation of BERT's first tokenizer.
func bertNormalizer(clean, chinese, strip, lowercase bool) step {
	return func(text string) string {
		var out strings.Builder
		out.Grow(len(text) + 16)
		for _, r := range text {
			switch {
			case clean && (r == 0 || r == utf8.RuneError || control(r)):
			case clean && unicode.IsSpace(r):
				out.WriteByte(' ')
			case chinese && ideograph(r):
				out.WriteByte(' ')
				out.WriteRune(r)
				out.WriteByte(' ')
			default:
				out.WriteRune(r)
			}
		}
		text = out.String()
		if strip {
			text = removeRunes(norm.NFD.String(text), marked)
		}
		if lowercase {
			text = lower(text)
		}
		return text
	}
}

// control reports whether BERT drops a rune: those of Unicode's category C that are assigned.
func control(r rune) bool {
	return r != '\t' && r != '\n' && r != '\r' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}

// ideograph reports whether BERT sees a word of its own in a rune. The blocks are those of its
// first implementation.
func ideograph(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B73F || r >= 0x2B740 && r <= 0x2B81F ||
		r >= 0x2B920 && r <= 0x2CEAF || r >= 0x2F800 && r <= 0x2FA1F
}

// charsmap is SentencePiece's table of replacements: a double-array trie (darts-clone) from
// strings to positions in the replacements, which end with a zero byte.
type charsmap struct {
	units        []uint32
	replacements string
}

// maxGrapheme is the longest grapheme in bytes that is looked up as a whole.
const maxGrapheme = 5

func precompiled(encoded string) (step, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("precompiled_charsmap: %w", err)
	}
	if len(data) == 0 {
		return func(s string) string { return s }, nil
	}
	if len(data) < 4 {
		return nil, errors.New("precompiled_charsmap: is too short")
	}
	size := int(binary.LittleEndian.Uint32(data))
	data = data[4:]
	if size > len(data) || size%4 != 0 || size == 0 {
		return nil, fmt.Errorf("precompiled_charsmap: a trie of %d bytes is impossible", size)
	}
	m := charsmap{make([]uint32, size/4), string(data[size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return m.normalize, nil
}

func (m charsmap) normalize(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	for segments := graphemes.FromString(text); segments.Next(); {
		segment := segments.Value()
		if len(segment) <= maxGrapheme {
			if replacement, ok := m.find(segment); ok {
				out.WriteString(replacement)
				continue
			}
		}
		for len(segment) > 0 {
			_, n := utf8.DecodeRuneInString(segment)
			if replacement, ok := m.find(segment[:n]); ok {
				out.WriteString(replacement)
			} else {
				out.WriteString(segment[:n])
			}
			segment = segment[n:]
		}
	}
	return out.String()
}

// find returns the replacement of the shortest key that key begins with. The original library
// does the same.
func (m charsmap) find(key string) (string, bool) {
	at := offset(m.units[0])
	for i := range len(key) {
		at ^= int(key[i])
		if key[i] == 0 || at >= len(m.units) {
			return "", false
		}
		unit := m.units[at]
		if unit&(1<<31|0xff) != uint32(key[i]) {
			return "", false
		}
		at ^= offset(unit)
		if unit>>8&1 == 0 {
			continue
		}
		if at >= len(m.units) {
			return "", false
		}
		start := int(m.units[at] & (1<<31 - 1))
		if start > len(m.replacements) {
			return "", false
		}
		replacement, _, _ := strings.Cut(m.replacements[start:], "\x00")
		return replacement, true
	}
	return "", false
}

func offset(unit uint32) int { return int(unit >> 10 << (unit & (1 << 9) >> 6)) }
