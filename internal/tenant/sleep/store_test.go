package sleep_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/iotest"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/program"
	"github.com/ragdhq/ragd/internal/tenant/sleep"
)

// Archives are kept in a folder as in a bucket: as a whole or not at all.
func TestArchivesAreKeptInFoldersAndBuckets(t *testing.T) {
	t.Parallel()
	server := program.Run(t, "s3")[0]
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server+"/archives", http.NoBody)
	must(t, err)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	_ = res.Body.Close()
	content := make([]byte, 17<<20) // two parts of an upload
	_, _ = rand.NewChaCha8([32]byte{3}).Read(content)
	for kind, config := range map[string]sleep.StoreConfig{
		"a folder": {Place: t.TempDir()},
		"a bucket": {Place: server + "/archives/of/ragd", AccessKeyID: "AKEXAMPLE", SecretAccessKey: "a secret"},
	} {
		store, err := sleep.Open(config)
		must(t, err)
		const name = "acme/7.ragd"
		read := func() ([]byte, error) {
			stored, err := store.Get(t.Context(), name)
			if err != nil {
				return nil, err
			}
			defer stored.Close()
			return io.ReadAll(stored)
		}
		if _, err := store.Put(t.Context(), name, io.MultiReader(bytes.NewReader(content[:9<<20]), iotest.ErrReader(errors.New("the export has failed")))); err == nil {
			t.Errorf("%s took an archive that ends with an error", kind)
		}
		if got, err := read(); err == nil {
			t.Errorf("%s has %d bytes of it", kind, len(got))
		}
		n, err := store.Put(t.Context(), name, bytes.NewReader(content))
		must(t, err)
		got, err := read()
		if err != nil || n != int64(len(content)) || !bytes.Equal(got, content) {
			t.Errorf("%s kept %d of %d bytes, %v", kind, len(got), n, err)
		}
		must(t, store.Delete(t.Context(), name))
		must(t, store.Delete(t.Context(), name))
		if got, err := read(); err == nil {
			t.Errorf("%s has %d bytes after they were deleted", kind, len(got))
		}
	}
	for _, place := range []string{"ftp://example.com/a", "https://user@example.com/a", "https://example.com", "https:///a", "https://example.com/a?b=c"} {
		if _, err := sleep.Open(sleep.StoreConfig{Place: place}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", place, err)
		}
	}
}
