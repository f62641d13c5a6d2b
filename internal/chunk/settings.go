package chunk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Settings are the chunking options that a caller gave; a nil or empty field was
// left out. Their JSON is stored in the database and has the field names of the
// Chunking message. Options, OptionsFor and RetrievalOptions check them and fill in
// the defaults.
type Settings struct {
	Strategy             Strategy           `json:"strategy,omitempty"`
	MaxSize              *int               `json:"maxSize,omitempty"`
	Size                 *int               `json:"size,omitempty"` // alias of MaxSize
	MinSize              *int               `json:"minSize,omitempty"`
	TargetSize           *int               `json:"targetSize,omitempty"`
	Overlap              *int               `json:"overlap,omitempty"`
	Separators           []string           `json:"separators,omitempty"`
	Separator            *string            `json:"separator,omitempty"`
	IsSeparatorRegex     *bool              `json:"isSeparatorRegex,omitempty"`
	SeparatorPosition    *SeparatorPosition `json:"separatorPosition,omitempty"`
	KeepSeparator        *KeepSeparator     `json:"keepSeparator,omitempty"` // alias of SeparatorPosition
	StripWhitespace      *bool              `json:"stripWhitespace,omitempty"`
	AddStartIndex        *bool              `json:"addStartIndex,omitempty"`
	Language             *string            `json:"language,omitempty"`
	EncodingName         *string            `json:"encodingName,omitempty"`
	ModelName            *string            `json:"modelName,omitempty"`
	AllowedSpecial       SpecialTokens      `json:"allowedSpecial,omitempty"`
	DisallowedSpecial    SpecialTokens      `json:"disallowedSpecial,omitempty"`
	Headers              []HeaderKey        `json:"headers,omitempty"`
	Sections             []SectionKey       `json:"sections,omitempty"`
	StripHeaders         *bool              `json:"stripHeaders,omitempty"`
	ReturnEachLine       *bool              `json:"returnEachLine,omitempty"`
	EnsureASCII          *bool              `json:"ensureAscii,omitempty"`
	ConvertLists         *bool              `json:"convertLists,omitempty"`
	JoinThreshold        *int               `json:"joinThreshold,omitempty"`
	SentenceEnders       []string           `json:"sentenceEnders,omitempty"`
	FallbackToWords      *bool              `json:"fallbackToWords,omitempty"`
	FallbackToCharacters *bool              `json:"fallbackToCharacters,omitempty"`
	// IncludeHidden is about reading a file, before its text is split.
	IncludeHidden *bool `json:"includeHidden,omitempty"`
}

// SectionKey maps an HTML selector to the metadata key under which the text of
// the elements it matches is stored.
type SectionKey struct {
	Path string `json:"path"`
	Key  string `json:"key"`
}

// KeepSeparator is a value of the option keepSeparator, an alias of
// separatorPosition. In JSON, KeepTrue and KeepFalse are booleans, the others
// strings.
type KeepSeparator string

// The values of KeepSeparator.
const (
	KeepTrue  KeepSeparator = "true"  // SeparatorStart
	KeepFalse KeepSeparator = "false" // SeparatorDropped
	KeepStart KeepSeparator = "start"
	KeepEnd   KeepSeparator = "end"
)

// MarshalJSON writes KeepTrue and KeepFalse as booleans.
func (k KeepSeparator) MarshalJSON() ([]byte, error) {
	if k == KeepTrue || k == KeepFalse {
		return []byte(k), nil
	}
	return json.Marshal(string(k))
}

// UnmarshalJSON reads true, false, "start", "end", or "", which means false. Errors are
// fault.Invalid about the field keepSeparator.
func (k *KeepSeparator) UnmarshalJSON(raw []byte) error {
	switch text := string(raw); text {
	case "true", "false":
		*k = KeepSeparator(text)
	case `"start"`:
		*k = KeepStart
	case `"end"`:
		*k = KeepEnd
	case `""`:
		*k = KeepFalse
	default:
		return fault.Field("keepSeparator", `must be true, false, "start" or "end", got %.100s`, text)
	}
	return nil
}

// SpecialTokens are special tokens of an encoding, such as "<|endoftext|>". The entry "all"
// stands for every one; in JSON, that text may also stand in place of the list.
type SpecialTokens []string

// UnmarshalJSON reads a list of strings, or "all". Errors are those of encoding/json, which
// do not say which field it was.
func (s *SpecialTokens) UnmarshalJSON(raw []byte) error {
	if string(raw) == `"all"` {
		*s = SpecialTokens{"all"}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(s))
}

// ParseSettings reads settings from a JSON object. Errors are fault.Invalid and
// name a field that is unknown or of the wrong type; values are checked by Options.
func ParseSettings(raw []byte) (Settings, error) {
	var s Settings
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return Settings{}, decodingError(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Settings{}, fault.New(fault.Invalid, "the settings are more than one JSON object")
	}
	return s, nil
}

// decodingError converts an error of encoding/json to a fault.Invalid about the
// field.
func decodingError(err error) error {
	var invalid *fault.Error
	if errors.As(err, &invalid) {
		return invalid
	}
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) && wrongType.Field != "" {
		return fault.Field(wrongType.Field, "must be %s, got %s", typeName(wrongType.Type), wrongType.Value)
	}
	if quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		if name, err := strconv.Unquote(quoted); err == nil {
			return fault.Field(name, "is not a chunking option")
		}
	}
	return fault.Wrap(fault.Invalid, err, "the settings are not a JSON object")
}

// typeName names the JSON type of a setting for an error message.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	default:
		return "a whole number"
	}
}

// IsZero reports whether no option was given.
func (s Settings) IsZero() bool { return reflect.ValueOf(s).IsZero() }

// Or returns s, or defaults if s is empty. It never merges the two, because an
// option of one strategy means nothing to another; but IncludeHidden is of none.
func (s Settings) Or(defaults Settings) Settings {
	hidden := s.IncludeHidden
	s.IncludeHidden = nil
	if s.IsZero() {
		s = defaults
	}
	if s.IncludeHidden = hidden; hidden == nil {
		s.IncludeHidden = defaults.IncludeHidden
	}
	return s
}

// String returns the JSON of the settings.
func (s Settings) String() string {
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	return string(raw)
}

// sectionHeaders returns the sections as headers whose marker is the path.
func (s Settings) sectionHeaders() []HeaderKey {
	headers := make([]HeaderKey, len(s.Sections))
	for i, section := range s.Sections {
		headers[i] = HeaderKey{Marker: section.Path, Key: section.Key}
	}
	return headers
}

// names returns the names of the options that were given, sorted.
func (s Settings) names() []string {
	var names []string
	value := reflect.ValueOf(s)
	for field, v := range value.Fields() {
		if !v.IsZero() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
