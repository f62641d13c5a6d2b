package archive

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"
)

// rowsOf returns rows of two fields, of some hundred bytes each.
func rowsOf(n int, seed uint64) (rows [][]byte) {
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		value := make([]byte, 200+random.IntN(1000))
		for j := range value {
			value[j] = byte(random.Uint32())
		}
		rows = append(rows, appendRow(nil, [][]byte{fmt.Append(nil, i), value}))
	}
	return rows
}

// cut returns the pieces of rows that COPY writes, in writes of different sizes.
func cut(t *testing.T, rows [][]byte, write int) (pieces [][]byte) {
	t.Helper()
	stream := append(bytes.Clone(copyHead), bytes.Join(rows, nil)...)
	stream = append(stream, copyEnd...)
	counted := 0
	c := &cutter{fields: 2, limit: maxFrame, emit: func(piece []byte, n int) error {
		counted += n
		pieces = append(pieces, bytes.Clone(piece))
		return nil
	}}
	for len(stream) > 0 {
		n := min(write, len(stream))
		if _, err := c.Write(stream[:n]); err != nil {
			t.Fatal(err)
		}
		stream = stream[n:]
	}
	if err := c.flush(); err != nil {
		t.Fatal(err)
	}
	if counted != len(rows) || !bytes.Equal(bytes.Join(pieces, nil), bytes.Join(rows, nil)) {
		t.Fatalf("%d rows of %d, or others", counted, len(rows))
	}
	return pieces
}

// However COPY writes, the frames are the same, and after a change in one row all but a few are.
func TestFramesAreCutByTheirContent(t *testing.T) {
	t.Parallel()
	rows := rowsOf(10_000, 1)
	whole := cut(t, rows, 1<<20)
	if len(whole) < 5 {
		t.Fatalf("%d frames", len(whole))
	}
	known := map[[sha256.Size]byte]bool{}
	for _, piece := range whole {
		known[sha256.Sum256(piece)] = true
	}
	for _, write := range []int{1 << 10, 4093} {
		for _, piece := range cut(t, rows, write) {
			if !known[sha256.Sum256(piece)] {
				t.Fatalf("another frame in writes of %d bytes", write)
			}
		}
	}
	more := append(append(append([][]byte{}, rows[:5000]...), appendRow(nil, [][]byte{[]byte("new"), nil})), rows[5000:]...)
	fresh := 0
	for _, piece := range cut(t, more, 1<<20) {
		if !known[sha256.Sum256(piece)] {
			fresh++
		}
	}
	if fresh == 0 || fresh > 3 {
		t.Errorf("after one more row %d of %d frames are new", fresh, len(whole))
	}
}

func TestRowsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	want := [][][]byte{{[]byte("a"), nil, {}}, {nil, nil, nil}, {[]byte("xyz"), []byte("\x00"), []byte("b")}}
	var data []byte
	for _, row := range want {
		data = appendRow(data, row)
	}
	n, err := countRows(data, 3)
	if n != len(want) || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	var got []string
	if err := eachRow(data, 3, func(row [][]byte) error { got = append(got, fmt.Sprintf("%q", row)); return nil }); err != nil {
		t.Fatal(err)
	}
	for i, row := range want {
		if got[i] != fmt.Sprintf("%q", row) {
			t.Errorf("row %d is %s, want %q", i, got[i], row)
		}
	}
	for at := 1; at < len(data); at++ {
		if _, err := countRows(data[:at], 3); err == nil && at != 15 && at != 29 {
			t.Errorf("%d bytes are whole rows", at)
		}
	}
}

// Whatever the bytes are, rows are refused or read, and what is read writes the same bytes.
func FuzzRows(f *testing.F) {
	f.Add([]byte{}, 1)
	f.Add(appendRow(nil, [][]byte{[]byte("a"), nil}), 2)
	f.Add([]byte{0, 1, 0x7f, 0xff, 0xff, 0xff}, 1)
	f.Add([]byte{0, 1, 0x80, 0, 0, 0}, 1)
	f.Fuzz(func(t *testing.T, data []byte, fields int) {
		if fields < 0 || fields > maxColumns {
			return
		}
		n, err := countRows(data, fields)
		if err != nil {
			return
		}
		var again []byte
		rows := 0
		if err := eachRow(data, fields, func(row [][]byte) error { again = appendRow(again, row); rows++; return nil }); err != nil {
			t.Fatal(err)
		}
		if rows != n || !bytes.Equal(again, data) {
			t.Errorf("%d rows of %d: %x is read as %x", rows, n, data, again)
		}
	})
}

func TestRowsAreReadInChunks(t *testing.T) {
	for _, n := range []int{0, 1, chunkRows, chunkRows + 1, 3*chunkRows - 1} {
		var data []byte
		for i := range n {
			data = appendRow(data, [][]byte{fmt.Append(nil, i), nil})
		}
		read := 0
		err := eachChunk(data, 2, func(rows [][][]byte) error {
			if len(rows) == 0 || len(rows) > chunkRows {
				t.Errorf("a chunk has %d rows", len(rows))
			}
			for _, row := range rows {
				if string(row[0]) != fmt.Sprint(read) || row[1] != nil {
					t.Errorf("row %d is %q", read, row)
				}
				read++
			}
			return nil
		})
		if err != nil || read != n {
			t.Errorf("read %d rows of %d: %v", read, n, err)
		}
	}
}
