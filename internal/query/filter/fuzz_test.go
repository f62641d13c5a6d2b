package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// ownSQL matches SQL that consists only of the tokens that this package writes;
// text from a caller does not match.
var ownSQL = regexp.MustCompile(`^(?:[ (),]|c\.metadata|element\d+(?:\.v|\(v\))?|->>?|#>>?|@>|<>|[<>]=?|=|!?~|` +
	`\$\d+|::(?:text|text\[\]|jsonb|jsonb\[\]|numeric|bigint|bigint\[\]|int)|'(?:array|number|null|\{\})'|COLLATE "C"|` +
	`\b(?:true|false|TRUE|NULL|AND|OR|NOT|IS|ANY|ALL|CASE|WHEN|THEN|ELSE|END|EXISTS|SELECT|FROM|AS|WHERE|` +
	`jsonb_typeof|ragd_shared\.instant|jsonb_array_elements|jsonb_array_elements_text|jsonb_array_length)\b)*$`)

// FuzzParse checks, for any bytes as filter and as metadata: errors are
// fault.Invalid, the SQL matches ownSQL, the printed filter parses to the same
// filter, an object parses like its text, and nothing panics.
func FuzzParse(f *testing.F) {
	golden := readGolden(f)
	for _, tc := range golden.Cases {
		metadata, err := json.Marshal(golden.Collections[tc.Collection][0].Metadata)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(tc.Filter), metadata)
	}
	f.Fuzz(func(t *testing.T, text, metadata []byte) {
		parsed, err := Parse(text)
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) || e.Kind != fault.Invalid {
				t.Fatalf("%v is not an Invalid fault", err)
			}
			return
		}
		if parsed.relative {
			return // the times of two readings differ
		}
		args := NewArgs()
		sql := parsed.SQL("c.metadata", args, "a", "a.b")
		if !ownSQL.MatchString(sql) {
			t.Fatalf("strange SQL: %s", sql)
		}
		object, ok := decodeKeepingNumbers(text)
		if !ok {
			return // blank
		}
		for _, v := range []any{parsed.String(), object} {
			again, err := Parse(v)
			if err != nil {
				t.Fatalf("%v: %v", v, err)
			}
			againArgs := NewArgs()
			if diff := cmp.Diff(sql, again.SQL("c.metadata", againArgs, "a", "a.b")); diff != "" {
				t.Fatalf("%v: %s", v, diff)
			}
			if diff := cmp.Diff(args.Values(), againArgs.Values()); diff != "" {
				t.Fatalf("%v: %s", v, diff)
			}
		}
		if object, ok := decodeKeepingNumbers(metadata); ok {
			parsed.Match(object)
		}
	})
}

// decodeKeepingNumbers decodes a JSON object with its numbers as json.Number.
func decodeKeepingNumbers(text []byte) (object map[string]any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err := d.Decode(&object)
	return object, err == nil && object != nil
}
