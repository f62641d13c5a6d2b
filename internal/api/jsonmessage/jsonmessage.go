// Package jsonmessage converts messages from JSON and to JSON. Its errors say which field is
// wrong, what is allowed there and what was given.
//
// protojson does the decoding. Only if it fails is the text read a second time, along the
// descriptor of the message, to find the mistake.
package jsonmessage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Unmarshal decodes data into message, which it resets. In a list of messages with two
// string fields, a pair of strings stands for a message: ["##", "title"] for {"marker": "##",
// "key": "title"}. A list of 32-bit floats may be a string: see Vector. A whole number in a value of free form, such as metadata, that would be rounded is an error. Errors: Invalid, with a violation if a field is to blame.
func Unmarshal(data []byte, message proto.Message) error {
	given := data
	data, vectors := detach(data, message.ProtoReflect().Descriptor())
	merge := func(rest []byte) error {
		for _, v := range vectors {
			if err := v.merge(message.ProtoReflect()); err != nil {
				return err
			}
		}
		return checkExact(rest, message)
	}
	err := protojson.Unmarshal(data, message)
	if err == nil {
		return merge(data)
	}
	if !utf8.Valid(given) {
		return notUTF8(given)
	}
	var whole json.RawMessage
	if syntax := new(json.SyntaxError); errors.As(json.Unmarshal(data, &whole), &syntax) {
		return fault.Wrap(fault.Invalid, err, "this is not valid JSON: %s: %s", position(data, syntax.Offset-1), syntaxReason(syntax))
	}
	whole, paired := withPairs(whole, message.ProtoReflect().Descriptor())
	if paired && protojson.Unmarshal(whole, message) == nil {
		return merge(whole)
	}
	if mistake := checkMessage(whole, message.ProtoReflect().Descriptor(), ""); mistake != nil {
		return mistake
	}
	return fault.Wrap(fault.Invalid, err, "%s", Reason(err))
}

// syntaxReason returns what is wrong with a JSON text.
func syntaxReason(err *json.SyntaxError) string {
	if strings.Contains(err.Error(), "unexpected end") {
		return "it ends too early: a quote or a bracket is not closed"
	}
	return err.Error()
}

// notUTF8 returns the error about a text with a byte that is not UTF-8.
func notUTF8(data []byte) error {
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return fault.New(fault.Invalid, "the JSON is not UTF-8: %s: byte 0x%02X: convert it first, for example with `iconv -f WINDOWS-1252 -t UTF-8`",
		position(data, int64(at)), data[at])
}

// position returns the position of a byte offset as a person counts: from line 1, column 1.
func position(data []byte, offset int64) string {
	before := data[:min(max(offset, 0), int64(len(data)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("line %d, column %d", line, column)
}

// prefix matches the beginning of the proto libraries' errors, whose white space varies.
var prefix = regexp.MustCompile(`^proto:[\s\x{a0}]*(\(line \d+:\d+\):[\s\x{a0}]*)?`)

// Reason returns the text of an error of the proto libraries without its prefix.
func Reason(err error) string { return prefix.ReplaceAllString(err.Error(), "") }
