package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The service of this test has no master key.
func TestSecretValuesComeFromStandardInputOrAFile(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	const refused = "ragd: this server cannot store secrets: its operator sets RAGD_MASTER_KEY, with which they are encrypted\n"
	path := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(path, []byte("sk-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []step{
		{args: args("secret set crm --file " + path), code: 1, stderr: refused},
		{args: args("secret set crm --generate"), code: 1, stderr: refused},
		{args: args("secret set crm --value sk-1"), code: 2, stderr: anything},
		{args: args("secret list"), stderr: "no secrets\n"},
		{args: args("secret delete crm"), code: 1, stderr: "ragd: secret \"crm\" not found\n"},
	} {
		s.want(t, want)
	}
}
