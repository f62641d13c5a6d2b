package connector

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // packs end with it
	"encoding/binary"
	"errors"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// packOf returns a pack with objects, each written by header and content.
func packOf(tb testing.TB, count uint32, objects ...[]byte) []byte {
	tb.Helper()
	raw := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), count)
	for _, o := range objects {
		raw = append(raw, o...)
	}
	sum := sha1.Sum(raw)
	return append(raw, sum[:]...)
}

// packed returns an object of a pack that says it has a size.
func packed(tb testing.TB, kind plumbing.ObjectType, size int, before, content []byte) []byte {
	tb.Helper()
	first := byte(kind)<<4 | byte(size&0x0f)
	out := []byte{first}
	for rest := size >> 4; rest > 0; rest >>= 7 {
		out[len(out)-1] |= 0x80
		out = append(out, byte(rest&0x7f))
	}
	out = append(out, before...)
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return append(out, b.Bytes()...)
}

func TestAPackOfFewBytesCannotTakeMuchMemory(t *testing.T) {
	t.Parallel()
	base := packed(t, plumbing.BlobObject, 4, nil, []byte("base"))
	delta := binary.AppendUvarint(binary.AppendUvarint(nil, 4), 1<<40)
	back := []byte{byte(len(base))} // offset of the base
	zeros := make([]byte, maxPackObjectBytes+1)
	for name, c := range map[string]struct {
		raw   []byte
		large bool
	}{
		"a delta that makes a terabyte":         {packOf(t, 2, base, packed(t, plumbing.OFSDeltaObject, len(delta), back, delta)), true},
		"an object that says it is huge":        {packOf(t, 1, packed(t, plumbing.BlobObject, 1<<40, nil, []byte("a"))), true},
		"zeros":                                 {packOf(t, 1, packed(t, plumbing.BlobObject, len(zeros), nil, zeros)), true},
		"an object that is longer than it says": {packOf(t, 1, packed(t, plumbing.BlobObject, 1, nil, zeros)), false},
		"very many objects":                     {packOf(t, maxPackObjects+1), true},
		"fewer objects than it says":            {packOf(t, maxPackObjects), false},
		"a delta without sizes":                 {packOf(t, 2, base, packed(t, plumbing.OFSDeltaObject, 1, back, []byte{0x80})), true},
		"a delta of itself":                     {packOf(t, 2, base, packed(t, plumbing.OFSDeltaObject, len(delta), []byte{0}, delta)), false},
	} {
		p, err := readPack(bytes.NewReader(c.raw))
		var large *largeError
		if err == nil || errors.As(err, &large) != c.large {
			t.Errorf("%s: %v", name, err)
		}
		if p != nil {
			t.Errorf("%s: it was read", name)
		}
	}
	p, err := readPack(bytes.NewReader(packOf(t, 1, base)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.file.Close() }()
	if o, err := p.objects.Get(plumbing.ComputeHash(plumbing.BlobObject, []byte("base"))); err != nil || o.Size() != 4 {
		t.Errorf("a pack: %v %v", o, err)
	}
}

func FuzzReadPack(f *testing.F) {
	base := packed(f, plumbing.BlobObject, 4, nil, []byte("base"))
	delta := append(binary.AppendUvarint(binary.AppendUvarint(nil, 4), 4), 0x90, 4)
	f.Add(packOf(f, 1, base))
	f.Add(packOf(f, 2, base, packed(f, plumbing.OFSDeltaObject, len(delta), []byte{byte(len(base))}, delta)))
	f.Add(packOf(f, 1, packed(f, plumbing.TreeObject, 0, nil, nil)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := readPack(bytes.NewReader(raw))
		if err != nil {
			return
		}
		defer func() { _ = p.file.Close() }()
		objects, err := p.objects.GetAll()
		if err != nil {
			return
		}
		defer objects.Close()
		_ = objects.ForEach(func(o plumbing.EncodedObject) error {
			if o.Size() > maxPackObjectBytes {
				t.Errorf("an object of %d bytes", o.Size())
			}
			return nil
		})
	})
}
