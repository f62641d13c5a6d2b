package jsonmessage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// inexactDigits is the least number of digits of a whole number that a message may not hold exactly: values of free form are
// 64-bit floating-point numbers in it.
const inexactDigits = 16

// errInexact is the error of Exact, beside the fault.
var errInexact = errors.New("a whole number would be rounded")

// Exact returns an error that names the first whole number in a JSON text that a message would round, as one beyond 2^53
// may be. path is that of the text. The text must be valid.
func Exact(raw json.RawMessage, path string) error {
	if !hasLongNumber(raw) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return exact(value, path)
}

func exact(value any, path string) error {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := exact(v[name], join(path, name)); err != nil {
				return err
			}
		}
	case []any:
		for i, inner := range v {
			if err := exact(inner, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case json.Number:
		if isRounded(string(v)) {
			err := fault.Field(path, "the whole number %s would be rounded, as only some beyond 9007199254740992 are kept exactly: write it as a string", v)
			err.Cause = errInexact
			return err
		}
	}
	return nil
}

// isRounded reports whether a number is a whole one, written without exponent, that a 64-bit floating-point number rounds.
func isRounded(number string) bool {
	digits := strings.TrimPrefix(number, "-")
	if len(digits) < inexactDigits || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	f, err := strconv.ParseFloat(digits, 64)
	return err != nil || strconv.FormatFloat(f, 'f', 0, 64) != digits
}

// hasLongNumber reports whether a text has as many digits in a row, not after a point, as a whole number that may be rounded.
func hasLongNumber(text []byte) bool {
	digits := 0
	for i, c := range text {
		if c < '0' || c > '9' {
			digits = 0
			continue
		}
		if digits++; digits == inexactDigits && (i < inexactDigits || text[i-inexactDigits] != '.') {
			return true
		}
	}
	return false
}

// checkExact returns an error if a message, which was read from the JSON text, does not have a whole number of a value of free form
// as it was written.
func checkExact(text []byte, message proto.Message) error {
	if !hasLongNumber(text) || !hasFreeForm(message.ProtoReflect().Descriptor(), map[protoreflect.FullName]bool{}) {
		return nil
	}
	if err := checkMessage(text, message.ProtoReflect().Descriptor(), ""); errors.Is(err, errInexact) {
		return err
	}
	return nil
}

// hasFreeForm reports whether a message has a field of free form, or is one.
func hasFreeForm(message protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if isFreeForm(message.FullName()) {
		return true
	}
	if seen[message.FullName()] {
		return false
	}
	seen[message.FullName()] = true
	for i := range message.Fields().Len() {
		if of := message.Fields().Get(i).Message(); of != nil && hasFreeForm(of, seen) {
			return true
		}
	}
	return false
}

func isFreeForm(name protoreflect.FullName) bool {
	return name == "google.protobuf.Struct" || name == "google.protobuf.Value" || name == "google.protobuf.ListValue"
}
