package connector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// pgoutput encodes a message: numbers of 16 and 32 bits, and texts with their sizes.
func pgoutput(parts ...any) []byte {
	var out []byte
	for _, part := range parts {
		switch part := part.(type) {
		case byte:
			out = append(out, part)
		case uint16:
			out = binary.BigEndian.AppendUint16(out, part)
		case uint32:
			out = binary.BigEndian.AppendUint32(out, part)
		case string:
			out = append(binary.BigEndian.AppendUint32(append(out, 't'), uint32(len(part))), part...)
		}
	}
	return out
}

func newDecoder() *changeStream {
	return &changeStream{table: publishedTable{oid: 7, schema: "public", name: "articles", key: "id"}, relations: map[uint32]int{7: 1}, transaction: 3}
}

func TestChangesAreTheIdsOfRows(t *testing.T) {
	t.Parallel()
	const ours, others = uint32(7), uint32(8)
	insert, update, remove := byte('I'), byte('U'), byte('D')
	null, same := byte('n'), byte('u')
	for name, c := range map[string]struct {
		message []byte
		want    string
	}{
		"an insert":                            {pgoutput(insert, ours, byte('N'), uint16(2), "text", "42"), "[{42 3 0 }]"},
		"of another table":                     {pgoutput(insert, others, byte('N'), uint16(2), "text", "42"), "[]"},
		"an insert without an id":              {pgoutput(insert, ours, byte('N'), uint16(2), "text", null), "[]"},
		"an update":                            {pgoutput(update, ours, byte('N'), uint16(3), same, "42", same), "[{42 3 0 }]"},
		"an update of the id":                  {pgoutput(update, ours, byte('K'), uint16(2), null, "41", byte('N'), uint16(2), "text", "42"), "[{41 3 0 } {42 3 0 }]"},
		"a whole row":                          {pgoutput(update, ours, byte('O'), uint16(2), "old", "42", byte('N'), uint16(2), "text", "42"), "[{42 3 0 }]"},
		"an id that is stored elsewhere":       {pgoutput(update, ours, byte('K'), uint16(2), null, "42", byte('N'), uint16(2), "text", same), "[{42 3 0 }]"},
		"an id that is not known":              {pgoutput(update, ours, byte('N'), uint16(2), "text", same), "[{ 0 0 a change came without the id of its row}]"},
		"a deletion":                           {pgoutput(remove, ours, byte('K'), uint16(2), null, "42"), "[{42 3 0 }]"},
		"truncation":                           {pgoutput(byte('T'), uint32(2), byte(0), others, ours), "[{ 0 0 the table was emptied by TRUNCATE}]"},
		"truncation of another table":          {pgoutput(byte('T'), uint32(1), byte(0), others), "[]"},
		"more bytes than there are":            {pgoutput(insert, ours, byte('N'), uint16(2), byte('t'), uint32(1<<32-1)), "error"},
		"fewer columns than there are":         {pgoutput(insert, ours, byte('N'), uint16(1), "text"), "error"},
		"no columns":                           {pgoutput(insert, ours, byte('N')), "error"},
		"a cut truncation":                     {pgoutput(byte('T'), uint32(1<<31), byte(0), uint16(1)), "error"},
		"no table":                             {pgoutput(remove), "error"},
		"a relation that ends before its name": {pgoutput(byte('R'), ours), "error"},
	} {
		events, err := newDecoder().change(c.message)
		got := fmt.Sprint(events)
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A server of somebody else sends what it likes.
func FuzzChanges(f *testing.F) {
	for _, message := range [][]byte{
		pgoutput(byte('U'), uint32(7), byte('K'), uint16(2), byte('n'), "41", byte('N'), uint16(2), "text", "42"), pgoutput(byte('R'), uint32(7), uint16(1), uint16(1)),
		pgoutput(byte('B'), uint32(1), uint32(1), uint32(1), uint32(1), uint32(9)), pgoutput(byte('T'), uint32(1), byte(0), uint32(7)),
	} {
		f.Add(append(append([]byte{'w'}, make([]byte, 24)...), message...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		defer func() {
			if r := recover(); r != nil && (len(data) < 26 || data[25] != 'R') { // of which the library may panic; its reader recovers
				t.Errorf("panic: %v", r)
			}
		}()
		c := newDecoder()
		events, _, err := c.decode(&pgproto3.CopyData{Data: data})
		var gap *gapError
		if err != nil && len(events) > 0 && !errors.As(err, &gap) {
			t.Errorf("events %v with the error %v", events, err)
		}
	})
}

func TestASnapshotSeesWhatWasCommitted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		snapshot    string
		transaction uint32
		want        bool
	}{
		"an ended one":              {"10:20:12,14", 11, true},
		"one that has not ended":    {"10:20:12,14", 14, false},
		"the next one":              {"20:20:", 20, false},
		"the last one":              {"20:20:", 19, true},
		"after numbers wrap around": {"4294967296:4294967300:", 1, true},
		"before they do":            {"4294967290:4294967300:4294967295", 1<<32 - 1, false},
	} {
		got, err := sees(c.snapshot, map[uint32]bool{c.transaction: true})
		if got != c.want || err != nil {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	for _, snapshot := range []string{"", "1:2", "a:b:c"} {
		if _, err := sees(snapshot, nil); err == nil {
			t.Errorf("%q is no snapshot", snapshot)
		}
	}
}
