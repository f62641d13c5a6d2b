package admission

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// A tenant gets half of the memory: what exceeds it waits and is then refused, and another
// tenant is not affected.
func TestMemoryIsDividedBetweenTenants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const mebi = 1 << 20
		g := New(Config{MaxMemory: 128 * mebi, MaxMessageBytes: 16 * mebi}) // 32 arriving, 96 decoded
		ctx := t.Context()
		first, second, other := g.Open("acme"), g.Open("acme"), g.Open("bolt")
		if err := first.Admit(ctx, 40*mebi); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var full *fault.Error
		if err := second.Admit(ctx, 20*mebi); !errors.As(err, &full) || full.Kind != fault.Exhausted || full.RetryAfter == 0 || time.Since(began) != maxWait {
			t.Errorf("over the tenant's half: %v after %v", err, time.Since(began))
		}
		if err := second.Admit(ctx, smallBytes); err != nil {
			t.Errorf("a small message: %v", err)
		}
		if err := other.Admit(ctx, 48*mebi); err != nil {
			t.Errorf("another tenant: %v", err)
		}
		if err := other.Admit(ctx, 49*mebi); !errors.Is(err, ErrTooLarge) || fault.KindOf(err) != fault.Exhausted {
			t.Errorf("more than a tenant's half: %v", err)
		}
		waiting := make(chan error)
		go func() { waiting <- second.Admit(ctx, 20*mebi) }()
		synctest.Wait()
		first.Close()
		if err := <-waiting; err != nil {
			t.Errorf("after the first is answered: %v", err)
		}
		second.Close()
		other.Close()
		if left := g.decoded.Used("acme") + g.decoded.Used("bolt"); left != 0 {
			t.Errorf("%d bytes are still taken", left)
		}
	})
}

// zeros is a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestRead(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	g := New(Config{MaxMessageBytes: most})
	for name, tc := range map[string]struct {
		body   io.Reader
		length int64
		want   int
		err    error
	}{
		"small":                      {io.LimitReader(zeros{}, 100), 100, 100, nil},
		"small, of unknown length":   {io.LimitReader(zeros{}, 100), -1, 100, nil},
		"large":                      {io.LimitReader(zeros{}, most), most, most, nil},
		"large, of unknown length":   {io.LimitReader(zeros{}, most), -1, most, nil},
		"over the limit":             {zeros{}, most + 1, 0, ErrTooLarge},
		"of unknown length, over it": {zeros{}, -1, 0, ErrTooLarge},
		"shorter than it says":       {strings.NewReader("ab"), 3, 0, io.ErrUnexpectedEOF},
		"empty, but said not to be":  {strings.NewReader(""), 3, 0, io.ErrUnexpectedEOF},
		"broken":                     {iotest.ErrReader(io.ErrClosedPipe), -1, 0, io.ErrClosedPipe},
		"broken, of known length":    {iotest.ErrReader(io.ErrClosedPipe), 3, 0, io.ErrClosedPipe},
	} {
		r := g.Open("acme")
		data, err := r.Read(t.Context(), tc.body, tc.length)
		if len(data) != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
		if want := int64(tc.want); err == nil && want > smallBytes && g.arriving.Used("acme") != want {
			t.Errorf("%s: %d bytes are taken", name, g.arriving.Used("acme"))
		}
		r.Close()
		if left := g.arriving.Used("acme"); left != 0 {
			t.Errorf("%s: %d bytes are still taken", name, left)
		}
	}
}

// slow is a body of which a byte arrives each interval.
type slow time.Duration

func (s slow) Read(p []byte) (int, error) {
	<-time.After(time.Duration(s))
	return min(1, len(p)), nil
}

func TestSlowMessagesAreCutOff(t *testing.T) {
	t.Parallel()
	for _, length := range []int64{-1, 100, 1 << 20} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			r := New(Config{}).Open("acme")
			defer r.Close()
			_, err := r.Read(t.Context(), slow(10*time.Second), length)
			if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took > MaxArrival+10*time.Second {
				t.Errorf("%d bytes: %v after %v", length, err, took)
			}
		})
	}
}

func TestInflate(t *testing.T) {
	t.Parallel()
	const most = 4 << 20
	g := New(Config{MaxMessageBytes: most})
	var text bytes.Buffer
	for i := range 40_000 {
		text.WriteString(strings.Repeat("a", i%7) + "line of a text\n")
	}
	for name, tc := range map[string]struct {
		message []byte
		code    fault.Kind
		err     error
	}{
		"small":                      {[]byte("a"), fault.Internal, nil},
		"empty":                      {nil, fault.Internal, nil},
		"text":                       {text.Bytes(), fault.Internal, nil},
		"zeros within the free size": {make([]byte, freeRatioBytes), fault.Internal, nil},
		"zeros":                      {make([]byte, freeRatioBytes+1), fault.Exhausted, ErrTooLarge},
		"over the limit":             {make([]byte, most+1), fault.Exhausted, ErrTooLarge},
	} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(tc.message)
		_ = z.Close()
		r := g.Open("acme")
		got, err := r.Inflate(context.Background(), packed.Bytes())
		if !errors.Is(err, tc.err) || tc.err == nil && !bytes.Equal(got, tc.message) || err != nil && fault.KindOf(err) != tc.code {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		for _, cut := range []int{3, packed.Len() / 2, packed.Len() - 1} {
			if _, err := r.Inflate(context.Background(), packed.Bytes()[:cut]); err == nil {
				t.Errorf("%s: cut to %d bytes it is accepted", name, cut)
			}
		}
		r.Close()
	}
}
