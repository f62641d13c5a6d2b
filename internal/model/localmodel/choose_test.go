package localmodel

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAModelIsChosenOfThoseThatCanBeUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	models := New(Config{Dir: filepath.Join(dir, "models")})
	want := func(when, embedding, crossEncoder string) {
		t.Helper()
		e, err := models.Embedding()
		if err != nil || e != embedding {
			t.Errorf("%s: the embedding model is %q, want %q: %v", when, e, embedding, err)
		}
		c, err := models.CrossEncoder()
		if err != nil || c != crossEncoder {
			t.Errorf("%s: the cross-encoder is %q, want %q: %v", when, c, crossEncoder, err)
		}
	}
	add := func(model, name string) string {
		t.Helper()
		folder := filepath.Join(dir, "models", name)
		if err := os.CopyFS(folder, os.DirFS(filepath.Join(testModels, model))); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	want("without a folder", "", "")
	if err := os.MkdirAll(filepath.Join(dir, "models"), 0o700); err != nil {
		t.Fatal(err)
	}
	want("without a model", "", "")
	add("bert-mean", ".pull-a-0123")
	broken := filepath.Join(add("bert-mean", "a"), weights)
	whole, err := os.ReadFile(broken)
	if err == nil {
		err = os.WriteFile(broken, whole[:len(whole)/2], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	want("with half a model", "", "")
	add("bert-mean", "m")
	add("bert-max", "k")
	want("with two", "k", "")
	add("cross-bert", "b")
	want("with a cross-encoder", "k", "b")
	add("bert-mean", PreferredEmbedding)
	add("cross-distilbert", PreferredCrossEncoder)
	want("with the preferred ones", PreferredEmbedding, PreferredCrossEncoder)
}
