package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/seal"
)

var (
	one = strings.Repeat("1a", seal.KeyBytes)
	two = strings.Repeat("2b", seal.KeyBytes)
)

func keys(t *testing.T, text string) *seal.Keys {
	t.Helper()
	k, err := seal.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestASecretOpensOnlyWhereItBelongs(t *testing.T) {
	t.Parallel()
	k := keys(t, one)
	sealed := k.Seal([]byte("sk-1"), "acme", "openai")
	if got, err := k.Open(sealed, "acme", "openai"); err != nil || string(got) != "sk-1" {
		t.Errorf("%q, %v", got, err)
	}
	for _, belongsTo := range [][]string{{"bolt", "openai"}, {"acme", "other"}, {"acmeo", "penai"}, {"acme"}, {}, {"acme", "openai", ""}} {
		if _, err := k.Open(sealed, belongsTo...); !errors.Is(err, seal.ErrNotAuthentic) {
			t.Errorf("%q: %v", belongsTo, err)
		}
	}
	if bytes.Contains(sealed, []byte("sk-1")) || bytes.Equal(sealed, k.Seal([]byte("sk-1"), "acme", "openai")) {
		t.Error("the secret can be read or recognised")
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, err := k.Open(changed, "acme", "openai"); err == nil {
			t.Errorf("a change of byte %d was not noticed", i)
		}
		if _, err := k.Open(sealed[:i], "acme", "openai"); err == nil {
			t.Errorf("%d bytes were opened", i)
		}
	}
}

func TestTheFirstOfSeveralKeysSealsAndAllOpen(t *testing.T) {
	t.Parallel()
	old := keys(t, one).Seal([]byte("s"))
	both := keys(t, two+","+one)
	if got, err := both.Open(old); err != nil || string(got) != "s" {
		t.Errorf("%q, %v", got, err)
	}
	if both.Current(old) || !both.Current(both.Seal([]byte("s"))) {
		t.Error("Current does not tell the first key")
	}
	if _, err := keys(t, two).Open(old); !errors.Is(err, seal.ErrUnknownKey) {
		t.Error(err)
	}
	var none *seal.Keys
	if _, err := none.Open(old); !errors.Is(err, seal.ErrUnknownKey) || none.Current(old) {
		t.Error(err)
	}
}

func TestParseTakesHexAndBase64AndShowsNoKeys(t *testing.T) {
	t.Parallel()
	for text, n := range map[string]string{
		"": "no master keys", " \n": "no master keys", one: "1 master keys", one + "\n" + two + "\n": "2 master keys",
		"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=": "1 master keys", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY": "1 master keys",
	} {
		if got := fmt.Sprint(keys(t, text)); got != n {
			t.Errorf("%q: %s", text, got)
		}
	}
	for _, text := range []string{"short", one[1:], strings.Repeat("zz", seal.KeyBytes), one + ",short"} {
		if _, err := seal.Parse(text); fault.KindOf(err) != fault.Invalid || strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", keys(t, one), keys(t, one), keys(t, one)); strings.Contains(text, "1a1a") {
		t.Error("the key is printed")
	}
}

func TestTheKeyFileIsMadeOnceAndForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	all := make([]*seal.Keys, 8)
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			var err error
			if all[i], err = seal.OpenFile(folder); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	sealed := all[0].Seal([]byte("s"))
	for i, k := range all {
		if _, err := k.Open(sealed); err != nil {
			t.Errorf("opener %d has another key: %v", i, err)
		}
	}
	path := filepath.Join(folder, seal.FileName)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("%d files", len(entries))
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.OpenFile(folder); fault.KindOf(err) != fault.Precondition {
		t.Errorf("an empty file: %v", err)
	}
}
