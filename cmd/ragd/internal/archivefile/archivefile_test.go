package archivefile

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
)

// frames returns the frames of an archive with these contents, the first the header and the last the end.
func frames(contents ...string) (heads []frame.Head, raw [][]byte) {
	codec, at := frame.NewCodec(), frame.Position{}
	for i, content := range contents {
		kind := frame.Rows
		switch i {
		case 0:
			kind = frame.Header
		case len(contents) - 1:
			kind = frame.End
		}
		head, next := at.Next(kind, len(content), sha256.Sum256([]byte(content)))
		at = next
		heads, raw = append(heads, head), append(raw, codec.Append(nil, head, []byte(content)))
	}
	return heads, raw
}

func whole(raw [][]byte) []byte { return append(frame.Preamble(), bytes.Join(raw, nil)...) }

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnExportGoesOnWithTheFramesThatArrived(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "acme.ragd")
	_, raw := frames("header", "a", "b", "c", "end")
	f := open(t, path)
	if known := f.Begin(10); len(known) != 0 {
		t.Errorf("%d bytes are known at first", len(known))
	}
	sent := whole(raw)
	_, err := f.Write(sent[:len(sent)-len(raw[4])-len(raw[3])-3]) // up to the middle of b
	must(t, err)
	if _, err := f.Finish(); err == nil {
		t.Error("half an archive is complete")
	}
	must(t, f.Close())

	// The tenant has changed meanwhile: x is before a.
	heads, raw := frames("header", "x", "a", "d", "end")
	f = open(t, path)
	known := f.Begin(10)
	if len(known) != frame.SumBytes || !slices.Equal(known, heads[2].Sum[:]) {
		t.Fatalf("known are %x", known)
	}
	_, err = f.Write(append(frame.Preamble(), append(slices.Clone(raw[0]), raw[1]...)...))
	must(t, err)
	must(t, f.AddKnown(heads[2].Append(nil)))
	_, err = f.Write(append(slices.Clone(raw[3]), raw[4]...))
	must(t, err)
	size, err := f.Finish()
	must(t, err)
	got, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(got, whole(raw)) || int(size) != len(got) {
		t.Errorf("the archive has %d bytes, want %d", len(got), len(whole(raw)))
	}
	left, err := filepath.Glob(path + ".*")
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if offset, err := Skip(bytes.NewReader(got), 2); err != nil || int(offset) != len(frame.Preamble())+len(raw[0])+len(raw[1]) {
		t.Errorf("the third frame is at %d, %v", offset, err)
	}
	if _, err := Skip(bytes.NewReader(got), 6); err == nil {
		t.Error("an archive of five frames has more")
	}
}

func TestAPartFileThatIsDamagedIsUsedUpToTheDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "acme.ragd")
	_, raw := frames("header", "a", "b", "end")
	data := whole(raw)
	data[len(data)-len(raw[3])-1] ^= 1 // of b
	must(t, os.WriteFile(path+PartSuffix, data, 0o600))
	if f := open(t, path); f.Frames() != 2 || f.Size() != int64(len(frame.Preamble())+len(raw[0])+len(raw[1])) {
		t.Errorf("%d frames, %d bytes", f.Frames(), f.Size())
	}
	must(t, os.WriteFile(path+PartSuffix, []byte("something else"), 0o600))
	if f := open(t, path); f.Frames() != 0 {
		t.Errorf("%d frames of something else", f.Frames())
	}
}

func TestWhatArrivesDamagedIsRefused(t *testing.T) {
	t.Parallel()
	heads, raw := frames("header", "a", "b", "end")
	_, others := frames("other", "a", "b", "end")
	for what, send := range map[string]func(*File) error{
		"no archive": func(f *File) error { _, err := f.Write([]byte("this is no archive of a tenant")); return err },
		"a frame twice": func(f *File) error {
			_, err := f.Write(whole([][]byte{raw[0], raw[1], raw[1]}))
			return err
		},
		"frames of two archives": func(f *File) error { _, err := f.Write(whole([][]byte{raw[0], others[1]})); return err },
		"a changed byte": func(f *File) error {
			data := whole(raw)
			data[len(data)-1] ^= 1
			_, err := f.Write(data)
			return err
		},
		"a known frame that is not there": func(f *File) error {
			if _, err := f.Write(whole(raw[:1])); err != nil {
				return err
			}
			return f.AddKnown(heads[1].Append(nil))
		},
		"a known frame in another": func(f *File) error {
			if _, err := f.Write(whole(raw)[:100]); err != nil {
				return err
			}
			return f.AddKnown(heads[0].Append(nil))
		},
	} {
		f := open(t, filepath.Join(t.TempDir(), "acme.ragd"))
		f.Begin(10)
		if err := send(f); err == nil {
			t.Errorf("%s is taken", what)
		}
		if _, err := f.Finish(); err == nil {
			t.Errorf("%s is complete", what)
		}
	}
}
