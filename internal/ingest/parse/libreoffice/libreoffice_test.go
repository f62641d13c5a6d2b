package libreoffice

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// installed returns the settings of the machine's LibreOffice, or skips the test.
func installed(t *testing.T) Config {
	t.Helper()
	c := Config{Program: "soffice"}
	if err := c.Resolve(t.Context()); err != nil {
		t.Skip(err)
	}
	return c
}

func TestConvert(t *testing.T) {
	c := installed(t)
	t.Setenv("TMPDIR", t.TempDir())
	for _, name := range []string{"rules-lo.doc", "accounts-lo.xls"} {
		content, err := os.ReadFile(filepath.Join("../testdata/old", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Convert(t.Context(), content, filepath.Ext(name))
		if err != nil || !bytes.HasPrefix(got, []byte("PK")) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestConvertReportsWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	c := installed(t)
	content := append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), make([]byte, 4096)...)
	if _, err := c.Convert(t.Context(), content, ".doc"); !errors.Is(err, ErrUnreadable) {
		t.Errorf("error %v", err)
	}
	if _, err := c.Convert(t.Context(), content, ".txt"); err == nil {
		t.Error("a file of another kind was converted")
	}
}

func TestConvertEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c := installed(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := c.Convert(ctx, []byte("x"), ".doc"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestAProgramThatIsNotInstalled(t *testing.T) {
	t.Parallel()
	c := Config{Program: "no-such-office"}
	if err := c.Resolve(t.Context()); err == nil {
		t.Error("it was found")
	}
}

func TestStaleDirectoriesAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := os.MkdirTemp("", directory)
	if err != nil {
		t.Fatal(err)
	}
	removeStale(time.Now())
	if !exists(dir) {
		t.Error("one in use was removed")
	}
	removeStale(time.Now().Add(2 * staleAfter))
	if exists(dir) {
		t.Error("it was not removed")
	}
}
