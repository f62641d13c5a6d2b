package jsonmessage

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// withPairs returns a JSON text of a message with an object for each pair of strings that a
// list of messages with two string fields has: ["##", "title"] stands for
// {"marker": "##", "key": "title"}. It reports whether there was a pair.
func withPairs(raw json.RawMessage, message protoreflect.MessageDescriptor) (json.RawMessage, bool) {
	if _, ok := wellKnown[message.FullName()]; ok || kindOf(raw) != object {
		return raw, false
	}
	var members [][]byte
	found := false
	_ = eachMember(raw, func(_ map[string]bool, name string, value json.RawMessage) error {
		if field := fieldOf(message, name); field != nil && field.Message() != nil && !field.IsMap() {
			var changed bool
			if field.IsList() {
				value, changed = listWithPairs(value, field.Message())
			} else {
				value, changed = withPairs(value, field.Message())
			}
			found = found || changed
		}
		quoted, err := json.Marshal(name)
		members = append(members, append(append(quoted, ':'), value...))
		return err
	})
	return enclosed('{', members, '}'), found
}

// listWithPairs is withPairs for a list of messages.
func listWithPairs(raw json.RawMessage, message protoreflect.MessageDescriptor) (json.RawMessage, bool) {
	var entries []json.RawMessage
	if kindOf(raw) != list || json.Unmarshal(raw, &entries) != nil {
		return raw, false
	}
	found, out := false, make([][]byte, len(entries))
	for i, entry := range entries {
		convert := withPairs
		if kindOf(entry) == list {
			convert = pairObject
		}
		converted, changed := convert(entry, message)
		out[i], found = converted, found || changed
	}
	return enclosed('[', out, ']'), found
}

// pairObject returns the object that a pair of strings stands for.
func pairObject(raw json.RawMessage, message protoreflect.MessageDescriptor) (json.RawMessage, bool) {
	var pair []json.RawMessage
	fields := message.Fields()
	if fields.Len() != 2 || json.Unmarshal(raw, &pair) != nil || len(pair) != 2 {
		return raw, false
	}
	members := make([][]byte, len(pair))
	for i, value := range pair {
		field := fields.Get(i)
		if field.Kind() != protoreflect.StringKind || field.IsList() || kindOf(value) != text {
			return raw, false
		}
		members[i] = append([]byte(`"`+field.JSONName()+`":`), value...)
	}
	return enclosed('{', members, '}'), true
}

// enclosed returns elements separated by commas, between two brackets.
func enclosed(open byte, elements [][]byte, end byte) json.RawMessage {
	return append(append([]byte{open}, bytes.Join(elements, []byte{','})...), end)
}
