package seal_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/ragdhq/ragd/internal/secure/seal"
)

// segment is how long a sealed segment of a stream is.
const segment = 64<<10 + 16

func sealStream(t *testing.T, plain, key []byte, belongsTo ...string) []byte {
	t.Helper()
	var sealed bytes.Buffer
	w, err := seal.NewWriter(&sealed, key, belongsTo...)
	if err != nil {
		t.Fatal(err)
	}
	for rest := plain; len(rest) > 0; { // pieces of odd sizes
		n := min(len(rest), 1+len(rest)/3)
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return sealed.Bytes()
}

func openStream(t *testing.T, from io.Reader, key []byte, belongsTo ...string) ([]byte, error) {
	t.Helper()
	r, err := seal.NewReader(from, key, belongsTo...)
	if err != nil {
		t.Fatal(err)
	}
	return io.ReadAll(r)
}

func TestAStreamOpensAsItWasSealed(t *testing.T) {
	t.Parallel()
	random := rand.NewChaCha8([32]byte{7})
	for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 2 * 64 << 10, 300_001} {
		plain := make([]byte, size)
		_, _ = random.Read(plain)
		key := seal.NewDataKey()
		sealed := sealStream(t, plain, key, "acme", "7")
		got, err := openStream(t, iotest.OneByteReader(bytes.NewReader(sealed)), key, "acme", "7")
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes: %d bytes, %v", size, len(got), err)
		}
		if size > 16 && bytes.Contains(sealed, plain[:16]) {
			t.Errorf("%d bytes can be read", size)
		}
	}
}

func TestAStreamThatWasChangedDoesNotOpen(t *testing.T) {
	t.Parallel()
	plain := bytes.Repeat([]byte("a tenant's rows "), 20_000)
	key := seal.NewDataKey()
	sealed := sealStream(t, plain, key, "acme", "7")
	for name, changed := range map[string][]byte{
		"empty":              {},
		"cut in a segment":   sealed[:len(sealed)-1],
		"cut after one":      sealed[:segment],
		"without the first":  sealed[segment:],
		"two in other order": bytes.Join([][]byte{sealed[segment : 2*segment], sealed[:segment], sealed[2*segment:]}, nil),
		"one doubled":        bytes.Join([][]byte{sealed[:segment], sealed}, nil),
		"something follows":  append(bytes.Clone(sealed), 0),
		"one bit":            append(append(bytes.Clone(sealed[:100_000]), sealed[100_000]^4), sealed[100_001:]...),
	} {
		if got, err := openStream(t, bytes.NewReader(changed), key, "acme", "7"); !errors.Is(err, seal.ErrNotAuthentic) || !bytes.HasPrefix(plain, got) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	for name, open := range map[string]func() ([]byte, error){
		"another key":    func() ([]byte, error) { return openStream(t, bytes.NewReader(sealed), seal.NewDataKey(), "acme", "7") },
		"another tenant": func() ([]byte, error) { return openStream(t, bytes.NewReader(sealed), key, "bolt", "7") },
		"another time":   func() ([]byte, error) { return openStream(t, bytes.NewReader(sealed), key, "acme", "8") },
	} {
		if got, err := open(); !errors.Is(err, seal.ErrNotAuthentic) || len(got) > 0 {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if _, err := seal.NewWriter(io.Discard, key[1:]); err == nil {
		t.Error("a short key was taken")
	}
}
