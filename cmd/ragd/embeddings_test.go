package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
)

func TestOldEmbeddingsAreNamedAndMadeAnew(t *testing.T) {
	t.Parallel()
	pool := schematest.Pool(t)
	s := newSession(t, append(providing(modelserver.New(t)), "RAGD_DATABASE_URL="+pool.Config().ConnString())...)
	path := filepath.Join(t.TempDir(), "pumps.md")
	if err := os.WriteFile(path, []byte("# Pumps\n\n## Care\n\n"+strings.Repeat("Oil the bearings once a month. ", 400)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{args: args("index create books --embedding-model openai/some-model"), stdout: anything})
	s.want(t, step{args: args("ingest " + path + " --index books"), stdout: anything, stderr: anything})
	s.want(t, step{args: args("index reembed books"), code: 2, stderr: "...--model is missing: the embeddings of books are as its model makes them now"})
	if _, err := pool.Exec(t.Context(), `UPDATE tenant_acme.indexes SET embedded_form = 0`); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{args: args("index describe books"), stdout: "...old embeddings     made without the headings above a chunk; `ragd index reembed books` makes them anew\n"})
	s.want(t, step{
		args: args("doctor"), code: 1, stderr: anything,
		stdout: "...those of books were made without the headings above a chunk: `ragd index reembed books` makes them anew, while the index serves\n",
	})
	s.want(t, step{args: args("index reembed books"), stdout: "...succeeded", stderr: "... embeds index books with openai/some-model\n"})
	s.want(t, step{args: args("index reembed books"), code: 2, stderr: "...--model is missing"})
}
